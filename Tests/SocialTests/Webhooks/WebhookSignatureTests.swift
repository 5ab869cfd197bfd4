import Testing

@testable import Social

/// The signature is that of Standard Webhooks, with its test vector.
struct WebhookSignatureTests {
  private let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  private let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
  private let timestamp = 1_614_265_330
  private let body = Array(#"{"test": 2432232314}"#.utf8)
  private let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

  @Test func itIsThatOfTheStandard() throws {
    let secret = try #require(WebhookSecret(text))
    #expect(secret.text == text)
    #expect(secret.signature(id: id, timestamp: timestamp, body: body) == signature)
  }

  @Test func anyOfSeveralSignaturesCounts() throws {
    let secret = try #require(WebhookSecret(text))
    let other = WebhookSecret().signature(id: id, timestamp: timestamp, body: body)
    for header in [signature, "\(other) \(signature)", "\(signature) \(other)", "v2,x \(signature)"] {
      #expect(secret.isValid(header, id: id, timestamp: timestamp, body: body), "\(header)")
    }
    for header in ["", other, "v1,", "v1,!", "v2," + signature.dropFirst(3), String(signature.dropLast(4))] {
      #expect(!secret.isValid(header, id: id, timestamp: timestamp, body: body), "\(header)")
    }
  }

  @Test func whatIsChangedIsNotSigned() throws {
    let secret = try #require(WebhookSecret(text))
    #expect(!secret.isValid(signature, id: "msg_2", timestamp: timestamp, body: body))
    #expect(!secret.isValid(signature, id: id, timestamp: timestamp + 1, body: body))
    #expect(!secret.isValid(signature, id: id, timestamp: timestamp, body: body + [0x20]))
  }

  @Test func aSecretIsLongAndShownNowhere() throws {
    let secret = WebhookSecret()
    #expect(secret.bytes.count == 32 && WebhookSecret().bytes != secret.bytes)
    #expect(!"\(secret) \(String(reflecting: secret))".contains(secret.text.dropFirst(6)))
    for wrong in ["", "whsec_", "whsec_!", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] { #expect(WebhookSecret(wrong) == nil) }
  }

  @Test func aSealedSecretOpensForItsHookAlone() throws {
    let secrets = WebhookSecrets(secret: "a key of the tests, 32 characters or more")
    let secret = WebhookSecret()
    let sealed = try secrets.seal(secret, of: 7)
    #expect(secrets.open(sealed, of: 7)?.bytes == secret.bytes)
    #expect(secrets.open(sealed, of: 8) == nil)
    #expect(WebhookSecrets(secret: "another key of the tests, 32 characters").open(sealed, of: 7) == nil)
  }
}
