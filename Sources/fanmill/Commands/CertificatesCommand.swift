import ArgumentParser
import Bootstrap
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import Foundation
import LibPQClient
import Social
import SocialAdmin

struct CertificatesCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "certificates", abstract: "Check fans' certificates, and change the keys that sign them.",
    subcommands: [Check.self, Keys.self, Rotate.self])

  struct Check: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "Show what a certificate says; exit 1 if it is invalid or revoked.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The certificate's token.") var token: String

    private struct Checked: Encodable {
      let platform: String
      let account: String
      let username: String
      let since: Date
      let hearts: Int
      let rank: Int
      let fans: Int
      let issuedAt: Date

      init(_ certificate: FanCertificate) {
        platform = certificate.platform.rawValue
        account = certificate.account
        username = certificate.username
        since = certificate.since
        hearts = certificate.hearts
        rank = certificate.rank
        fans = certificate.fans
        issuedAt = certificate.issuedAt
      }
    }

    func run() async throws {
      try await common.withPostgres { pool in
        let certificate = try await FanCertificates.checkSigned(token, in: pool).certificate
        try common.output.one(Checked(certificate)) { said in
          let hearts = said.hearts == 1 ? "1 heart" : "\(said.hearts.grouped) hearts"
          return
            "\(said.username) has been a fan of \(said.account) (\(said.platform)) since \(said.since.short): \(hearts), "
            + "rank \(said.rank.grouped) of \(said.fans.grouped), as of \(said.issuedAt.short)"
        }
      }
    }
  }

  struct Keys: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "keys", abstract: "List the current and former signing keys, the latest first.")
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.withPostgres { pool in
        let keys = try await SigningKeys.all(in: pool).map(KeyReport.init)
        try common.output.list(keys, empty: "there is no key: the first certificate creates one") {
          Table(signingKeys: $0)
        }
      }
    }
  }

  struct Rotate: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "rotate", abstract: "Create a new signing key, in use from now on.",
      discussion: """
        Certificates signed with earlier keys stay valid: those keys verify them, and stay at /.well-known/jwks.json. \
        Required after a change of FANMILL_CERTIFICATE_KEY, which encrypts the key in the database.
        """)
    @OptionGroup var common: CommonOptions

    private struct Rotated: Encodable { let id: String }

    func run() async throws {
      try await common.run { program in
        guard let secret = program.settings.certificateKey else { throw SettingsError.missing(.certificateKey) }
        try await program.withDatabase { database in
          let id = try await database.pool.transaction { transaction in
            let id = try await SigningKeys(secret: secret.value).rotate(in: transaction)
            try await ActionLog(database).record("certificates.rotate", id, by: .terminal, in: transaction)
            return id
          }
          try common.output.one(Rotated(id: id)) { "the key \($0.id) signs from now on" }
        }
      }
    }
  }
}

private struct KeyReport: Encodable {
  let id: String
  let state: String
  let createdAt: Date

  init(_ key: PublicSigningKey) {
    id = key.id
    state = key.isCurrent ? "signs" : "checks"
    createdAt = key.createdAt
  }
}

extension Table {
  fileprivate init(signingKeys: [KeyReport]) {
    self.init(
      [.text("id"), .state(), .text("made")], rows: signingKeys.map { [$0.id, $0.state, $0.createdAt.away()] })
  }
}
