import Cryptography
import Foundation
import HTTPTypes
import Hummingbird
import Social

/// A certificate as a web page: its card and its contents.
struct CertificatePage: Sendable {
  private let status: HTTPResponse.Status
  private let title: String
  private let content: String

  private static let style = """
    :root{color-scheme:light dark}body{margin:0;font:16px/1.5 system-ui,sans-serif;background:#f6f1e7;color:#1f1b16}\
    main{max-width:60rem;margin:0 auto;padding:2rem 1rem}h1{font-size:1.5rem;line-height:1.25}\
    img{display:block;width:100%;height:auto;aspect-ratio:1200/630;border-radius:1rem;background:#fffdf8}\
    dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.5rem}dt{color:#6b6257}\
    dd{margin:0;overflow-wrap:anywhere}\
    a{color:#a11843}p{max-width:40rem}\
    @media(prefers-color-scheme:dark){body{background:#14110f;color:#f4eee4}dt{color:#b3a899}a{color:#ff8fab}\
    img{background:#1d1a17}}
    """
  /// Allows only the page's own style and this server's pictures.
  private static let policy =
    "default-src 'none'; img-src 'self'; "
    + "style-src 'sha256-\(Data(SHA256.hash(of: style.utf8)).base64EncodedString())'; base-uri 'none'; "
    + "form-action 'none'; frame-ancestors 'none'"

  private static func escaped(_ text: String) -> String { CardDrawing.escaped(text) }

  init(_ checked: FanCertificates.Checked, token: String) {
    let certificate = checked.certificate
    let since = String(certificate.since.formatted(.iso8601).prefix(10))
    let issued = String(certificate.issuedAt.formatted(.iso8601).prefix(10))
    // One from before 0.1 can neither be revoked nor checked elsewhere.
    let isCurrent = checked.fan != nil
    let celeb = CelebAccount.url(of: certificate.account, on: certificate.platform)
    status = .ok
    let title = "\(checked.name) is a fan of \(checked.title)"
    self.title = title
    content = """
      <h1>\(Self.escaped(title))</h1>
      <p>This certificate is genuine: this server signed it\
      \(isCurrent ? ", and the fan has not removed the celeb since" : "").</p>
      \(isCurrent ? Self.card(token) : "")<dl>
      <dt>Celeb</dt><dd><a href="\(Self.escaped(celeb))" rel="noreferrer nofollow">\(Self.escaped(checked.title))</a>, \
      \(Self.escaped(certificate.account))</dd>
      <dt>Fan</dt><dd>\(Self.escaped(checked.name)), @\(Self.escaped(certificate.username))</dd>
      <dt>Fan since</dt><dd>\(since)</dd>
      <dt>Hearts</dt><dd>\(certificate.hearts)</dd>
      <dt>Rank</dt><dd>\(certificate.rank) of \(certificate.fans)</dd>
      <dt>As of</dt><dd>\(issued)</dd>
      </dl>
      \(isCurrent ? Self.links(token) : "")
      """
  }

  private static func card(_ token: String) -> String {
    """
    <img src="\(token)/card.svg" width="1200" height="630" alt="The certificate's card, with a QR code of this page">

    """
  }

  private static func links(_ token: String) -> String {
    """
    <p><a href="\(token)/card.png">The card as a PNG</a> · \
    <a href="/.well-known/jwks.json">Keys to check it without this server</a></p>
    """
  }

  /// The page that explains why no certificate can be shown.
  init(_ refusal: SocialError, status: Int) {
    self.status = HTTPResponse.Status(code: status)
    let title = "This is not a valid certificate"
    self.title = title
    content = "<h1>\(title)</h1><p>\(Self.escaped(refusal.message.capitalizedFirst)).</p>"
  }

  var response: Response {
    let page = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="robots" content="noindex"><title>\(Self.escaped(title))</title><style>\(Self.style)</style></head>
      <body><main>
      \(content)
      </main></body></html>

      """
    return Response(
      status: status,
      headers: [
        .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        .contentSecurityPolicy: Self.policy, .vary: "Accept",
      ],
      body: ResponseBody(byteBuffer: ByteBuffer(string: page)))
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
