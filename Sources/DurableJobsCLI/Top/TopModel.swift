import DurableJobsAdmin
import Foundation

/// The live screen's state and its key bindings: a value independent of any terminal.
struct TopModel: Sendable {
  /// A selectable line, identified by a name that stays the same while it is shown.
  enum Choice: Sendable, Hashable {
    case queue(String)
    case worker(String)
    /// A job that a worker is running.
    case running(String)
    case failure(String)

    var part: Int {
      switch self {
      case .queue: 0
      case .worker, .running: 1
      case .failure: 2
      }
    }
  }

  /// The action that a key requests.
  enum Action: Sendable, Hashable {
    case pause(String)
    case resume(String)
    case retry(String)
    case cancel(String)
    case quit
    case suspend
  }

  var view: LiveView?
  /// The result of the last action, or why it is not possible.
  var message = ""
  private(set) var choice: Choice?
  /// The pending question, and the action that a yes confirms.
  private(set) var question: (text: String, action: Action)?

  /// All selectable lines, from the top down.
  var choices: [Choice] {
    guard let view else { return [] }
    return view.queues.map { .queue($0.queue) }
      + view.workers.flatMap { worker in [.worker(worker.name)] + worker.running.map { .running($0.id) } }
      + view.failures.map { .failure($0.id) }
  }

  /// Shows a new view. If the chosen line is gone, the one now in its place is chosen.
  mutating func show(_ view: LiveView) {
    let place = choice.flatMap { choices.firstIndex(of: $0) } ?? 0
    self.view = view
    let now = choices
    if let choice, now.contains(choice) { return }
    choice = now.isEmpty ? nil : now[min(place, now.count - 1)]
  }

  /// - Returns: the requested action, if any.
  mutating func press(_ key: Key) -> Action? {
    if let question {
      self.question = nil
      if key == .letter("y") || key == .letter("Y") { return question.action }
      message = "nothing was done"
      return key == .interrupt ? .quit : nil
    }
    message = ""
    switch key {
    case .interrupt, .letter("q"): return .quit
    case .suspend: return .suspend
    case .up: move(by: -1)
    case .down: move(by: 1)
    case .nextPart: moveToNextPart()
    case .letter("p"): return pauseOrResume()
    case .letter("r"): return retry()
    case .letter("c"): askToCancel()
    default: break
    }
    return nil
  }

  private mutating func move(by step: Int) {
    let all = choices
    guard let choice, let place = all.firstIndex(of: choice) else { return }
    self.choice = all[min(max(place + step, 0), all.count - 1)]
  }

  private mutating func moveToNextPart() {
    let all = choices
    guard let choice, let place = all.firstIndex(of: choice) else { return }
    self.choice = all[place...].first { $0.part > choice.part } ?? all.first
  }

  private mutating func pauseOrResume() -> Action? {
    guard case .queue(let name) = choice, let queue = view?.queues.first(where: { $0.queue == name }) else {
      message = "p pauses and resumes a queue: select one"
      return nil
    }
    return queue.isPaused ? .resume(name) : .pause(name)
  }

  private mutating func retry() -> Action? {
    guard case .failure(let id) = choice else {
      message = "r retries a failed job: select one"
      return nil
    }
    return .retry(id)
  }

  private mutating func askToCancel() {
    switch choice {
    case .running(let id): question = ("cancel the running job \(id)? [y/N]", .cancel(id))
    case .failure(let id):
      guard view?.failures.first(where: { $0.id == id })?.state != .dead else {
        message = "job \(id) is dead: there is nothing to cancel"
        return
      }
      question = ("cancel job \(id)? [y/N]", .cancel(id))
    default: message = "c cancels a job: select one that is running or failed"
    }
  }
}
