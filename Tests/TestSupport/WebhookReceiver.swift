import Foundation
import Locking

/// A receiver of webhooks that records what arrives, and answers as a test wants.
public final class WebhookReceiver: Sendable {
  public struct Arrival: Sendable {
    public let id: String
    public let type: String
    public let subject: String
    public let timestamp: Int
    /// The header's value.
    public let signature: String
    public let body: [UInt8]
  }

  public static let accepted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
  public static let failed = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\nsick"
  public static let gone = "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"

  public let url: String
  private let server: ScriptedServer
  private let kept: Locked<[Arrival]>

  public var arrivals: [Arrival] { kept.withLock { $0 } }

  /// - Parameter answer: the response, for an arrival and the number of earlier arrivals with its id; nil leaves the
  ///   request unanswered.
  public init(_ answer: @escaping @Sendable (Arrival, Int) -> String? = { _, _ in WebhookReceiver.accepted }) throws {
    let kept = Locked<[Arrival]>([])
    let server = try ScriptedServer { connection in
      while let request = connection.readRequest() {
        guard let arrival = Arrival(request) else { return }
        let before = kept.withLock { arrivals in
          arrivals.append(arrival)
          return arrivals.count { $0.id == arrival.id } - 1
        }
        guard let text = answer(arrival, before) else { return connection.waitForHangUp() }
        if !connection.write(text) { return }
      }
    }
    self.kept = kept
    self.server = server
    url = "http://127.0.0.1:\(server.port)/hook"
  }

  public func stop() { server.stop() }
}

extension WebhookReceiver.Arrival {
  /// nil if the request is not that of a webhook.
  init?(_ request: String) {
    guard let end = request.range(of: "\r\n\r\n") else { return nil }
    var fields: [String: String] = [:]
    for line in request[..<end.lowerBound].components(separatedBy: "\r\n").dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    body = Array(request[end.upperBound...].utf8)
    guard let id = fields["webhook-id"], let signature = fields["webhook-signature"],
      let timestamp = fields["webhook-timestamp"].flatMap({ Int($0) }),
      let form = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any],
      let type = form["type"] as? String, let subject = form["subject"] as? String
    else { return nil }
    self.id = id
    self.signature = signature
    self.timestamp = timestamp
    self.type = type
    self.subject = subject
  }
}
