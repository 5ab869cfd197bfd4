import ArgumentParser
import Operations

struct QueuesCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "queues", abstract: "Look at the queues.", subcommands: [List.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
      abstract: "List the queues.",
      discussion: """
        ready, delayed, claimed and workers are what the broker has in hand now; owed are the durable jobs that are not done, \
        and parked those among them that no worker knows.
        """)
    @OptionGroup var common: CommonOptions

    func run() async throws {
      try await common.withDesk { desk in
        let queues = try await QueueDesk(pool: desk.pool, broker: desk.broker).list()
        try common.output.list(queues, empty: "there are no queues") { queues in
          Table(
            [
              .text("queue"), .number("ready"), .number("delayed"), .number("claimed"), .number("workers"),
              .number("owed"), .number("parked"),
            ],
            rows: queues.map { queue in
              [queue.queue]
                + [queue.ready, queue.delayed, queue.claimed, queue.workers, queue.owed, queue.parked].map(\.grouped)
            })
        }
      }
    }
  }
}
