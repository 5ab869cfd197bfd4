import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import Foundation
import Social
import SocialAdmin

struct WebhooksCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "webhooks", abstract: "Send the app's events to other servers.",
    discussion: """
      Events are signed POST requests, sent at least once and in order for each subject, and retried for a day. \
      docs/webhooks.md describes them.
      """,
    subcommands: [
      Add.self, List.self, Show.self, Pause.self, Resume.self, Rotate.self, Delete.self, Deliveries.self, Replay.self,
      Test.self,
    ])

  struct Add: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Add a webhook, and show its secret this once.",
      discussion: """
        Events: \(WebhookEventType.allCases.map(\.rawValue).joined(separator: ", ")); * for all. Private addresses and \
        http:// need FANMILL_WEBHOOKS_PRIVATE=on, for this command and for the workers.
        """)
    @OptionGroup var common: CommonOptions
    @Argument(help: "The receiver's https:// URL.") var url: String
    @Option(help: "The events to send, separated by commas, such as post.created,post.deleted, or *.")
    var events: String

    func run() async throws {
      try await common.run { program in
        let secrets = try program.webhookSecrets()
        let names = events.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        try await program.withDatabase { database in
          let added = try await WebhookAdmin(database).add(
            url, events: names, allowsPrivate: program.settings.webhooksPrivate, secrets: secrets, by: .terminal)
          try common.output.one(added) { $0.text("added webhook \($0.webhook.id) to \($0.webhook.url)") }
        }
      }
    }
  }

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List webhooks and their state.")
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.withDatabase { database in
        let hooks = try await WebhookAdmin(database).list()
        try common.output.list(hooks, empty: "there are no webhooks: `fanmill webhooks add` adds one") {
          Table(webhooks: $0)
        }
      }
    }
  }

  struct Show: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show a webhook's events, state and backlog.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The webhook's number.") var id: Int

    func run() async throws {
      try await common.withDatabase { database in
        try common.output.one(try await WebhookAdmin(database).show(id)) { $0.details }
      }
    }
  }

  struct Pause: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "pause", abstract: "Stop a webhook's deliveries; its events wait.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The webhook's number.") var id: Int

    func run() async throws {
      try await common.withDatabase { database in
        let hook = try await WebhookAdmin(database).pause(id, by: .terminal)
        try common.output.one(hook) { "webhook \($0.id) is paused; its events wait" }
      }
    }
  }

  struct Resume: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "resume", abstract: "Continue a webhook's deliveries where they stopped.",
      discussion: "Also for a webhook that was disabled by its receiver; what it missed meanwhile is not sent.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The webhook's number.") var id: Int

    func run() async throws {
      try await common.withJobs { database, jobs in
        let hook = try await WebhookAdmin(database).resume(id, by: .terminal, through: jobs)
        try common.output.one(hook) { "webhook \($0.id) is active; \($0.waiting.grouped) events wait" }
      }
    }
  }

  struct Rotate: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "rotate", abstract: "Give a webhook a new secret, and show it this once.",
      discussion: """
        For \(WebhookSecrets.overlapHours) hours requests carry two signatures, by the new secret and by the one \
        before, so receivers can change over. Also required after a change of FANMILL_CERTIFICATE_KEY.
        """)
    @OptionGroup var common: CommonOptions
    @Argument(help: "The webhook's number.") var id: Int

    func run() async throws {
      try await common.run { program in
        let secrets = try program.webhookSecrets()
        try await program.withDatabase { database in
          let rotated = try await WebhookAdmin(database).rotate(id, secrets: secrets, by: .terminal)
          try common.output.one(rotated) { $0.text("webhook \($0.webhook.id) has a new secret") }
        }
      }
    }
  }

  struct Delete: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "delete", abstract: "Delete a webhook with its deliveries and what waits for it.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var confirmation: Confirmation
    @Argument(help: "The webhook's number.") var id: Int

    func run() async throws {
      try await common.run { program in
        try confirmation.ask("delete the webhook \(id)")
        try await program.withDatabase { database in
          let hook = try await WebhookAdmin(database).delete(id, by: .terminal)
          try common.output.one(hook) { "deleted webhook \($0.id) to \($0.url)" }
        }
      }
    }
  }

  struct Deliveries: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "deliveries", abstract: "List a webhook's deliveries with the receiver's answers, newest first.")
    @OptionGroup var common: CommonOptions
    @OptionGroup var page: PageOptions
    @Argument(help: "The webhook's number.") var id: Int
    @Option(help: "Only deliveries in this state: waiting, delivered or failed.")
    var state: WebhookAdmin.DeliveryState?

    func run() async throws {
      try await common.withDatabase { database in
        let deliveries = try await WebhookAdmin(database).deliveries(
          of: id, in: state, before: page.before, limit: page.limit)
        try common.output.list(deliveries.items, next: deliveries.next, empty: "there are no deliveries") {
          Table(deliveries: $0)
        }
      }
    }
  }

  struct Replay: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "replay", abstract: "Send events again that were delivered or given up.",
      discussion: "Each keeps its id, by which receivers recognize it. Events are kept for FANMILL_WEBHOOKS_DAYS.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The webhook's number.") var id: Int
    @Option(help: "Only this event, such as evt_12.") var event: String?
    @Option(help: "All events since this time, \(Moment.form).") var since: Moment?
    @Flag(help: "All events that were given up.") var failed = false

    private struct Replayed: Encodable {
      let webhook: Int
      let events: Int
    }

    func validate() throws {
      let given = [event != nil, since != nil, failed].count { $0 }
      if given != 1 { throw ValidationError("pass one of --event, --since and --failed") }
    }

    func run() async throws {
      let what: WebhookAdmin.Replay =
        if let event {
          .event(event)
        } else if let since {
          .since(since.date)
        } else {
          .failed
        }
      try await common.withJobs { database, jobs in
        let count = try await WebhookAdmin(database).replay(id, what, by: .terminal, through: jobs)
        try common.output.one(Replayed(webhook: id, events: count)) { replayed in
          replayed.events == 1 ? "1 event is sent again" : "\(replayed.events.grouped) events are sent again"
        }
      }
    }
  }

  struct Test: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      commandName: "test", abstract: "Send an event of type webhook.test to a webhook.",
      discussion: "A worker sends it; `fanmill webhooks deliveries` shows the receiver's answer.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The webhook's number.") var id: Int

    private struct Sent: Encodable {
      let webhook: Int
      let event: String
    }

    func run() async throws {
      try await common.withJobs { database, jobs in
        let event = try await WebhookAdmin(database).test(id, by: .terminal, through: jobs)
        try common.output.one(Sent(webhook: id, event: event)) { "enqueued the event \($0.event)" }
      }
    }
  }
}

extension WebhookAdmin.DeliveryState: ExpressibleByArgument {}

extension Program {
  /// Seals webhooks' secrets.
  ///
  /// - Throws: `SettingsError` without a key.
  fileprivate func webhookSecrets() throws -> WebhookSecrets {
    guard let key = settings.certificateKey else { throw SettingsError.missing(.certificateKey) }
    return WebhookSecrets(secret: key.value)
  }
}

extension WebhookWithSecret {
  fileprivate func text(_ done: String) -> String {
    "\(done)\n" + facts([("secret", secret), ("events", webhook.events.joined(separator: ", "))])
      + "\nThe secret is not shown again."
  }
}

extension Table {
  fileprivate init(webhooks: [WebhookRecord]) {
    self.init(
      [
        .number("id"), .elastic("url"), .state(), .number("events"), .number("waiting"), .text("oldest"),
        .text("delivered"), .number("failures"),
      ],
      rows: webhooks.map { hook in
        [
          String(hook.id), hook.url, hook.state, String(hook.events.count), hook.waiting.grouped,
          hook.oldestWaiting?.away() ?? "", hook.deliveredAt?.away() ?? "never", hook.failures.grouped,
        ]
      })
  }

  fileprivate init(deliveries: [WebhookDeliveryRecord]) {
    self.init(
      [
        .id("event"), .text("type"), .elastic("subject"), .state(), .number("attempts"), .number("status"),
        .number("ms"), .text("made"), .elastic("answer"),
      ],
      rows: deliveries.map { delivery in
        [
          delivery.event, delivery.type, delivery.subject, delivery.state, delivery.attempts.grouped,
          delivery.status.map(String.init) ?? "", delivery.milliseconds.map { $0.grouped } ?? "",
          delivery.createdAt.away(), delivery.answer ?? "",
        ]
      })
  }
}

extension WebhookRecord {
  fileprivate var details: String {
    var lines = [
      ("id", String(id)), ("url", url), ("state", state + (reason.map { ": \($0)" } ?? "")),
      ("since", changedAt.short), ("events", events.joined(separator: ", ")), ("added at", createdAt.short),
      ("last delivery", deliveredAt?.short ?? "none"), ("waiting", waiting.grouped),
    ]
    if let oldestWaiting { lines.append(("oldest waiting", oldestWaiting.short)) }
    if let failingSince { lines.append(("failing", "\(failures.grouped) attempts since \(failingSince.short)")) }
    if let formerSecretUntil { lines.append(("former secret", "signs until \(formerSecretUntil.short)")) }
    return facts(lines)
  }
}
