import DurableJobsAdmin
import Foundation

/// What the live screen shows and what a key means there: a value without any terminal.
struct TopModel: Sendable {
  /// A line that can be chosen, named by what does not change while it is looked at.
  enum Choice: Sendable, Hashable {
    case queue(String)
    case worker(String)
    /// A job that a worker runs.
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

  /// What is to be done.
  enum Action: Sendable, Hashable {
    case pause(String)
    case resume(String)
    case retry(String)
    case cancel(String)
    case quit
    case suspend
  }

  var view: LiveView?
  /// What was done last, or what cannot be.
  var message = ""
  private(set) var choice: Choice?
  /// What is done when the question is answered with yes.
  private(set) var question: (text: String, action: Action)?

  /// All lines that can be chosen, from the top down.
  var choices: [Choice] {
    guard let view else { return [] }
    return view.queues.map { .queue($0.queue) }
      + view.workers.flatMap { worker in [.worker(worker.name)] + worker.running.map { .running($0.id) } }
      + view.failures.map { .failure($0.id) }
  }

  /// Takes up what is so now. Whoever was chosen and is gone gives way to the line that is in its place.
  mutating func show(_ view: LiveView) {
    let place = choice.flatMap { choices.firstIndex(of: $0) } ?? 0
    self.view = view
    let now = choices
    if let choice, now.contains(choice) { return }
    choice = now.isEmpty ? nil : now[min(place, now.count - 1)]
  }

  /// - Returns: what is to be done.
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
      message = "p pauses and resumes a queue: choose one"
      return nil
    }
    return queue.isPaused ? .resume(name) : .pause(name)
  }

  private mutating func retry() -> Action? {
    guard case .failure(let id) = choice else {
      message = "r retries a job that failed: choose one"
      return nil
    }
    return .retry(id)
  }

  private mutating func askToCancel() {
    switch choice {
    case .running(let id): question = ("cancel job \(id), which runs? [y/N]", .cancel(id))
    case .failure(let id):
      guard view?.failures.first(where: { $0.id == id })?.state != .dead else {
        message = "job \(id) is dead: there is nothing to cancel"
        return
      }
      question = ("cancel job \(id)? [y/N]", .cancel(id))
    default: message = "c cancels a job: choose one that runs or failed"
    }
  }
}
