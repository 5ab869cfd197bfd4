import Testing

@testable import Cryptography

@Suite struct Ed25519Tests {
  private static func bytes(_ text: String) -> [UInt8] {
    stride(from: 0, to: text.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
  }

  /// RFC 8032, 7.1: secret key, public key, message, signature.
  private static let vectors = [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
        + "655141438e7a100b"
    ),
    (
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aee"
        + "b00d291612bb0c00"
    ),
  ]

  @Test func signaturesAreThoseOfTheStandard() throws {
    for (secret, known, message, signature) in Self.vectors {
      let key = try Ed25519PrivateKey(Self.bytes(secret))
      #expect(key.publicKey.bytes == Self.bytes(known))
      #expect(try key.signature(for: Self.bytes(message)) == Self.bytes(signature))
      #expect(key.publicKey.isValid(Self.bytes(signature), for: Self.bytes(message)))
    }
  }

  @Test func whatWasChangedIsNotValid() throws {
    let key = try Ed25519PrivateKey()
    let message = [UInt8].random(count: 100)
    let signature = try key.signature(for: message)
    #expect(key.publicKey.isValid(signature, for: message))
    for place in [0, 31, 32, 63] {
      var changed = signature
      changed[place] ^= 1
      #expect(!key.publicKey.isValid(changed, for: message))
    }
    #expect(!key.publicKey.isValid(signature, for: message + [0]))
    #expect(!key.publicKey.isValid(Array(signature.dropLast()), for: message))
    #expect(!(try Ed25519PrivateKey()).publicKey.isValid(signature, for: message))
    #expect(!(try Ed25519PublicKey([UInt8](repeating: 0xFF, count: 32))).isValid(signature, for: message))
    #expect(throws: CryptographyError.self) { try Ed25519PrivateKey([1, 2, 3]) }
    #expect(throws: CryptographyError.self) { try Ed25519PublicKey([1, 2, 3]) }
    #expect(!"\(key)".contains(key.bytes.hexadecimal))
  }

  @Test func base64ForAddressesHasOneTextForEachContent() {
    for (bytes, text) in [
      ([], ""), ([0x66], "Zg"), ([0x66, 0x6F], "Zm8"), ([0x66, 0x6F, 0x6F], "Zm9v"), ([0xFB, 0xFF, 0xBF], "-_-_"),
    ] as [([UInt8], String)] {
      #expect(Base64URL.text(bytes) == text)
      #expect(Base64URL.bytes(text) == bytes)
    }
    for text in ["Z", "Zg==", "Zg=", "Zh", "Zm9v\n", " Zm9v", "+/+/", "Zm9vZ", "é", "Z\u{0}g"] {
      #expect(Base64URL.bytes(text) == nil, "\(text)")
    }
    for count in 0..<70 {
      let bytes = [UInt8].random(count: count)
      #expect(Base64URL.bytes(Base64URL.text(bytes)) == bytes)
    }
  }
}
