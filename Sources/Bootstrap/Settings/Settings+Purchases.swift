import Cryptography
import Foundation
import Social

extension Settings {
  /// The trusted stores.
  ///
  /// - Throws: if the root certificate cannot be read, or if settings that belong together are incomplete.
  public func purchaseRules() throws(SettingsError) -> PurchaseRules {
    var rules = PurchaseRules(key: purchaseKey.map { HMACSHA256(key: $0.value.utf8) })
    guard let storeKitRoot else { return rules }
    guard let storeKitBundle else { throw .missing(.storeKitBundle) }
    guard !storeKitProducts.isEmpty else { throw .missing(.storeKitProducts) }
    let root: [UInt8]
    do {
      root = try Self.certificate(Array(Data(contentsOf: URL(filePath: storeKitRoot))))
    } catch {
      throw refusal(of: .storeKitRoot, because: "the certificate cannot be read: \(error)")
    }
    rules.storeKit = PurchaseRules.StoreKit(
      root: root, bundle: storeKitBundle, products: storeKitProducts, acceptsSandbox: storeKitSandbox)
    return rules
  }

  mutating func takePurchases(_ reader: SettingsReader) throws(SettingsError) {
    try take(.purchaseKey, reader.text(.purchaseKey)) { settings, text throws(Wrong) in
      settings.purchaseKey = Secret(try Self.signingKey(text))
    }
    try take(.storeKitRoot, reader.text(.storeKitRoot)) { $0.storeKitRoot = $1 }
    try take(.storeKitBundle, reader.text(.storeKitBundle)) { $0.storeKitBundle = $1 }
    try take(.storeKitProducts, reader.list(.storeKitProducts)) { settings, entries throws(Wrong) in
      for entry in entries {
        let parts = entry.split(separator: "=", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, let places = Int(parts[1]), 1...1000 ~= places else {
          throw Wrong(value: entry, reason: "use a product's id, '=' and 1 to 1000 places")
        }
        settings.storeKitProducts[String(parts[0])] = places
      }
    }
    try take(.storeKitSandbox, reader.text(.storeKitSandbox)) { settings, text throws(Wrong) in
      settings.storeKitSandbox = try Self.isOn(text)
    }
  }

  static func signingKey(_ text: String) throws(Wrong) -> String {
    guard text.count >= 32 else {
      throw Wrong(value: text, reason: "\(text.count) characters are too few: use at least 32")
    }
    return text
  }

  /// The certificate in a DER or PEM file.
  private static func certificate(_ file: [UInt8]) throws -> [UInt8] {
    let lines = String(decoding: file, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard let first = lines.firstIndex(of: "-----BEGIN CERTIFICATE-----"),
      let last = lines.firstIndex(of: "-----END CERTIFICATE-----"), first < last
    else {
      try CertificateChain.check(file)
      return file
    }
    let certificate = Array(Data(base64Encoded: lines[(first + 1)..<last].joined()) ?? Data())
    try CertificateChain.check(certificate)
    return certificate
  }
}
