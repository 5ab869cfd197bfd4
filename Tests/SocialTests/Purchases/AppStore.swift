import Foundation

@testable import Cryptography
@testable import Social

/// A store in Apple's format with its own root, made by `openssl`.
struct AppStore: Sendable {
  let root: [UInt8]
  /// The certificates, leaf first.
  let chain: [[UInt8]]
  private let folder: URL

  static let bundle = "org.example.fans"

  struct OpenSSLFailed: Error {}

  /// - Parameters:
  ///   - leafMark: the extension of the first certificate; nil for none.
  ///   - days: the validity of the first certificate.
  init(leafMark: String? = "1.2.840.113635.100.6.11.1", days: Int = 30) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "app-store-\(UUID().uuidString)")
    self.folder = folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let mark = leafMark.map { "\($0)=ASN1:NULL\n" } ?? ""
    try """
    [root]
    basicConstraints=critical,CA:TRUE
    keyUsage=critical,keyCertSign
    [issuer]
    basicConstraints=critical,CA:TRUE
    keyUsage=critical,keyCertSign
    1.2.840.113635.100.6.2.1=ASN1:NULL
    [leaf]
    basicConstraints=critical,CA:FALSE
    keyUsage=critical,digitalSignature
    \(mark)
    """.write(to: folder.appending(path: "extensions.cnf"), atomically: true, encoding: .utf8)
    for name in ["root", "issuer", "leaf"] {
      try Self.run(in: folder, ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "\(name).key"])
      try Self.run(in: folder, ["req", "-new", "-key", "\(name).key", "-subj", "/CN=\(name)", "-out", "\(name).csr"])
    }
    let common = ["-extfile", "extensions.cnf", "-outform", "DER"]
    try Self.run(
      in: folder,
      [
        "x509", "-req", "-in", "root.csr", "-signkey", "root.key", "-days", "60", "-extensions", "root", "-out",
        "root.der",
      ]
        + common)
    for (name, issuer, days) in [("issuer", "root", 40), ("leaf", "issuer", days)] {
      try Self.run(in: folder, ["x509", "-inform", "DER", "-in", "\(issuer).der", "-out", "\(issuer).pem"])
      try Self.run(
        in: folder,
        [
          "x509", "-req", "-in", "\(name).csr", "-CA", "\(issuer).pem", "-CAkey", "\(issuer).key", "-CAcreateserial",
          "-days", "\(days)", "-extensions", name, "-out", "\(name).der",
        ] + common)
    }
    func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: "\(name).der"))) }
    root = try read("root")
    chain = [try read("leaf"), try read("issuer"), root]
  }

  var rules: PurchaseRules {
    PurchaseRules(
      storeKit: PurchaseRules.StoreKit(root: root, bundle: Self.bundle, products: ["two": 2, "five": 5]))
  }

  /// A notification as the store sends it.
  func notice(
    _ type: String, _ transaction: String, for token: UUID?, product: String = "two", quantity: Int = 1,
    bundle: String = Self.bundle, environment: String = "Production", at date: Date = Date()
  ) throws -> String {
    let token = token.map { #","appAccountToken":"\#($0)""# } ?? ""
    let info = try sign(
      """
      {"transactionId":"\(transaction)","bundleId":"\(bundle)","environment":"\(environment)","productId":"\(product)",\
      "quantity":\(quantity)\(token)}
      """)
    return try sign(
      """
      {"notificationType":"\(type)","signedDate":\(Int(date.timeIntervalSince1970 * 1000)),\
      "data":{"bundleId":"\(bundle)","environment":"\(environment)","signedTransactionInfo":"\(info)"}}
      """)
  }

  /// - Parameter chain: the certificates named in the text.
  func sign(_ payload: String, algorithm: String = "ES256", chain: [[UInt8]]? = nil) throws -> String {
    let certificates = (chain ?? self.chain).map { "\"\(Data($0).base64EncodedString())\"" }.joined(separator: ",")
    let head = #"{"alg":"\#(algorithm)","x5c":[\#(certificates)]}"#
    let message = Base64URL.text(head.utf8) + "." + Base64URL.text(payload.utf8)
    let name = UUID().uuidString
    try message.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
    try Self.run(in: folder, ["dgst", "-sha256", "-sign", "leaf.key", "-out", "\(name).sig", name])
    return message + "."
      + Base64URL.text(try Self.numbers(Array(Data(contentsOf: folder.appending(path: "\(name).sig")))))
  }

  /// Both numbers of a DER signature, 32 bytes each.
  private static func numbers(_ der: [UInt8]) throws -> [UInt8] {
    var numbers: [UInt8] = []
    var place = 2
    for _ in 0..<2 {
      let count = Int(der[place + 1])
      let number = Array(der[(place + 2)..<(place + 2 + count)].drop { $0 == 0 })
      numbers += [UInt8](repeating: 0, count: 32 - number.count) + number
      place += 2 + count
    }
    return numbers
  }

  private static func run(in folder: URL, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/openssl")
    process.arguments = arguments
    process.currentDirectoryURL = folder
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw OpenSSLFailed() }
  }

  func remove() throws { try FileManager.default.removeItem(at: folder) }
}
