import Cryptography
import DurableJobs
import Foundation
import Hummingbird
import LibPQClient
import Social

/// `certificates`, and the keys to verify them with. Public.
struct CertificateRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  /// nil disables certificates.
  let certificates: FanCertificates?

  func add(to group: RouterGroup<APIContext>) {
    group.on(.issueCertificate, use: issue)
    group.on(.checkCertificate, use: check)
    group.on(.showSVGCard) { try await card(.svg, $0, $1) }
    group.on(.showPNGCard) { try await card(.png, $0, $1) }
  }

  func addKeys(to router: Router<APIContext>) { router.on(.listKeys, use: keys) }

  private struct Issued: Encodable {
    let token: String
    let certificate: CertificateView
  }

  @Sendable private func issue(_ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let account = try context.celebAccount()
    let (token, certificate) = try await demand().issue(for: account, of: viewer.id, in: pool)
    return try Answer(.ok, Issued(token: token, certificate: CertificateView(certificate)))
  }

  private struct Checked: Encodable {
    let valid = true
    let certificate: CertificateView
  }

  /// JSON, or a page for clients that ask for HTML.
  @Sendable private func check(_ request: Request, _ context: APIContext) async throws -> Response {
    let token = try context.parameter("token")
    let wantsPage = request.headers[.accept]?.lowercased().contains("text/html") == true
    do {
      let checked = try await demand().check(token, in: pool)
      if wantsPage { return CertificatePage(checked, token: token).response }
      var response = try Answer(.ok, Checked(certificate: CertificateView(checked.certificate)))
        .response(from: request, context: context)
      response.headers[.vary] = "Accept"
      return response
    } catch let refusal as SocialError where wantsPage {
      return CertificatePage(refusal, status: Problem(refusal)?.status ?? 500).response
    }
  }

  private func card(
    _ form: CertificateCard.Form, _ request: Request, _ context: APIContext
  ) async throws -> Response {
    let token = try context.parameter("token")
    _ = try await FanCertificates.checkSigned(token, in: pool)
    guard let file = try await CertificateCard.file(form, of: token, by: jobs, in: pool) else {
      return Response(status: .accepted, headers: [.retryAfter: "1", .cacheControl: "no-store"])
    }
    let tag = EntityTag(of: file)
    var headers: HTTPFields = [.cacheControl: "public, max-age=300", .eTag: tag.text]
    if tag.isHeld(by: request) { return Response(status: .notModified, headers: headers) }
    headers[.contentType] = form.contentType
    headers[.xContentTypeOptions] = "nosniff"
    headers[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: file)))
  }

  // MARK: Keys

  /// A public key in the form of RFC 8037.
  private struct Key: Encodable {
    let kty = "OKP"
    let crv = "Ed25519"
    let alg = "EdDSA"
    let use = "sig"
    let kid: String
    let x: String
  }

  private struct Keys: Encodable {
    let keys: [Key]
  }

  @Sendable private func keys(_ request: Request, _ context: APIContext) async throws -> Response {
    let keys = try await SigningKeys.all(in: pool).map { Key(kid: $0.id, x: Base64URL.text($0.bytes)) }
    var response = try Answer(.ok, Keys(keys: keys)).response(from: request, context: context)
    response.headers[.contentType] = "application/jwk-set+json"
    response.headers[.cacheControl] = "public, max-age=300"
    return response
  }

  private func demand() throws(SocialError) -> FanCertificates {
    guard let certificates else {
      throw SocialError(
        .certificatesOff, "certificates are disabled on this server: no signing key is configured")
    }
    return certificates
  }
}
