import CurlClient
import Foundation
import HTTPTypes
import Logging

/// Draws certificate cards on a worker.
public struct CardStudio: Sendable {
  private let workshop: PictureWorkshop
  private let address: String
  private let folder: String
  private let fetch: @Sendable (String) async throws -> [UInt8]?

  /// - Parameters:
  ///   - workshop: renders drawings as pictures.
  ///   - address: the public address of the API, such as `https://api.example.org`.
  ///   - folder: for temporary files.
  ///   - fetch: loads the picture at an address; nil if it is unavailable.
  public init(
    workshop: PictureWorkshop, address: String, folder: String = NSTemporaryDirectory(),
    fetch: @escaping @Sendable (String) async throws -> [UInt8]?
  ) {
    self.workshop = workshop
    self.address = address
    self.folder = folder
    self.fetch = fetch
  }

  /// - Parameter client: fetches celebs' pictures. If a fetch fails, the card is drawn without the picture.
  public init(workshop: PictureWorkshop, address: String, client: HTTPClient, logger: Logger) {
    self.init(workshop: workshop, address: address) { address in
      // The addresses come from YouTube.
      guard let url = URLComponents(string: address), url.scheme == "https", let host = url.host else { return nil }
      let request = HTTPRequest(
        method: .get, scheme: "https", authority: url.port.map { "\(host):\($0)" } ?? host,
        path: url.percentEncodedPath + (url.percentEncodedQuery.map { "?" + $0 } ?? ""))
      do throws(HTTPClientError) {
        let (response, body) = try await client.send(request)
        return response.status == .ok ? body : nil
      } catch {
        if error.code == .cancelled { throw CancellationError() }
        logger.notice("cannot fetch a celeb's picture", metadata: ["error": "\(error)"])
        return nil
      }
    }
  }

  /// Draws a card as SVG and PNG.
  func draw(_ checked: FanCertificates.Checked, token: String) async throws -> (svg: String, png: [UInt8]) {
    var picture: [UInt8]?
    if let thumbnail = checked.thumbnail { picture = try await fetch(thumbnail) }
    let svg = CardDrawing(
      certificate: checked.certificate, title: checked.title, name: checked.name, picture: picture,
      address: "\(address)/v1/certificates/\(token)"
    ).svg
    return (svg, try await workshop.render(svg, in: folder))
  }
}
