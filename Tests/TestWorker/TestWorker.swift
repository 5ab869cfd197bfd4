import ArgumentParser

/// A worker for tests, and a producer of its jobs.
@main
struct TestWorker: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Works, or asks for work, in ways that tests need.", subcommands: [Serve.self, Produce.self],
    defaultSubcommand: Serve.self)
}
