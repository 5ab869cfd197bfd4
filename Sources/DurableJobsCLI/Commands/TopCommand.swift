import ArgumentParser
import DurableJobsAdmin
import Foundation
import Glibc
import UnixSignals

struct TopCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "top", abstract: "Watch queues, workers and failures live, and act on them.",
      discussion: """
        Keys: the arrows (or j and k) move, Tab goes to the next part, p pauses or resumes the selected queue, r \
        retries the selected failed job, c cancels the selected job after a confirmation, q quits. Rates and times are \
        means over the last minute or two.
        """)
  }
  @OptionGroup var common: CommandOptions<P>
  @Option(help: "The refresh interval, \(TimeSpan.form).") var every = TimeSpan(seconds: 1)

  func validate() throws {
    if common.json {
      throw ValidationError("--json cannot be combined with a live screen: see `\(P.path) stats --json`")
    }
    guard every.seconds >= 0.1 else { throw ValidationError("--every is \(every.seconds) s: use 100 ms or more") }
  }

  func run() async throws {
    try await common.run { program in
      let screen = try Screen()
      try await common.withAdmin(program, endures: true) { admin in
        screen.enter()
        defer { screen.leave() }
        try await Top(admin: admin, screen: screen, title: "\(P.path) top", pause: every.duration).run()
      }
    }
  }
}

/// The live screen's loop: handles keys, new readings and signals in turn, and draws.
private struct Top: Sendable {
  enum Event: Sendable {
    case key(Key)
    case view(LiveView)
    case message(String)
    /// The terminal was resized, or the program is in the foreground again.
    case redraw
    case end
  }

  let admin: AdminSession
  let screen: Screen
  let title: String
  let pause: Duration

  func run() async throws {
    let (events, event) = AsyncStream.makeStream(of: Event.self)
    let signals = await UnixSignalsSequence(
      trapping: .sigwinch, .sigint, .sigterm, .sighup, .sigquit, .sigcont)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await signal in signals {
          let isChange = signal == .sigwinch || signal == .sigcont
          event.yield(isChange ? .redraw : .end)
        }
      }
      group.addTask {
        for await key in Key.stream() { event.yield(.key(key)) }
        event.yield(.end)
      }
      group.addTask { await watch { event.yield($0) } }
      var model = TopModel()
      draw(model)
      for await next in events {
        switch next {
        case .key(let key):
          switch model.press(key) {
          case .quit:
            group.cancelAll()
            return
          case .suspend: suspend()
          case .some(let action): group.addTask { await perform(action) { event.yield($0) } }
          case nil: break
          }
        case .view(let view): model.show(view)
        case .message(let message): model.message = message
        case .redraw: screen.enter()
        case .end:
          group.cancelAll()
          return
        }
        draw(model)
      }
    }
  }

  private func draw(_ model: TopModel) {
    let (columns, rows) = screen.size
    screen.draw(
      TopFrame(model: model, columns: columns, rows: rows, isColored: Terminal.output.isColored, title: title).lines)
  }

  /// Hands the terminal back until the shell returns this program to the foreground.
  private func suspend() {
    screen.leave()
    kill(getpid(), SIGSTOP)
    screen.enter()
  }

  private func watch(_ tell: @Sendable (Event) -> Void) async {
    while !Task.isCancelled {
      do {
        tell(.view(try await admin.live.view()))
      } catch {
        if Task.isCancelled { return }
        tell(.message("not refreshed: \(CommandFailure(error)?.line ?? "\(error)")"))
      }
      do { try await Task.sleep(for: pause) } catch { return }
    }
  }

  private func perform(_ action: TopModel.Action, _ tell: @Sendable (Event) -> Void) async {
    do {
      switch action {
      case .pause(let queue):
        try await admin.queues.pause(queue, by: .terminal)
        tell(.message("queue \(queue) is paused"))
      case .resume(let queue):
        try await admin.queues.resume(queue, by: .terminal)
        tell(.message("queue \(queue) is resumed"))
      case .retry(let id):
        let job = try await admin.jobs.retry(id, by: .terminal)
        tell(.message("job \(id) is \(job.state.rawValue)"))
      case .cancel(let id):
        let job = try await admin.jobs.cancel(id, by: .terminal)
        tell(.message("job \(id) is \(job.state.rawValue)"))
      case .quit, .suspend: break
      }
      tell(.view(try await admin.live.view()))
    } catch {
      tell(.message(CommandFailure(error)?.line ?? "\(error)"))
    }
  }
}
