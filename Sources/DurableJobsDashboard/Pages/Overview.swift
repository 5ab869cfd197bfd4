import DurableJobsAdmin

/// The overview's current parts. Addresses are relative to the mount.
struct Overview: Sendable {
  struct Attention: Sendable {
    let name: String
    let mark: String
    let style: String
    let detail: String
    let hasAdvice: Bool
    let advice: [Words]
    let href: String?

    init(_ name: String, _ mark: String, _ style: String, _ detail: String, advice: String?, href: String?) {
      self.name = name
      self.mark = mark
      self.style = style
      self.detail = detail
      self.href = href
      hasAdvice = advice != nil
      self.advice = Words.all(in: advice ?? "")
    }
  }

  /// A part of a sentence; text between backquotes is shown as code.
  struct Words: Sendable {
    let text: String
    let isCode: Bool

    /// How to start workers: a command, or a plain phrase.
    static func starting(_ terms: DoctorTerms) -> Words {
      Words(text: terms.worker, isCode: !terms.worker.contains(" "))
    }

    static func all(in sentence: String) -> [Words] {
      sentence.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
        Words(text: String(part), isCode: !index.isMultiple(of: 2))
      }
    }
  }

  struct Number: Sendable {
    let label: String
    let value: String
    let sub: String
    let style: String
    let href: String?
  }

  struct Queue: Sendable {
    let name: String
    let isPaused: Bool
    let isUnserved: Bool
    let ready: String
    let running: String
    let oldestWaiting: String
    let oldestRunning: String
    let wait: String
    let run: String
  }

  /// An item with a state: a worker, a server, a check.
  struct Standing: Sendable {
    let name: String
    let state: String
    let mark: String
    let style: String
    let detail: String
    let running: String

    init(_ name: String, _ state: String, _ style: String, _ detail: String) {
      (self.name, self.state, mark, self.style, self.detail, running) = (name, state, state, style, detail, detail)
    }
  }

  let verdict: String
  let verdictStyle: String
  let hasAttention: Bool
  let attention: [Attention]
  let numbers: [Number]
  let windows: [Figures.Tab]
  let charts: [Chart]
  let queues: [Queue]
  let hasWorkers: Bool
  /// How to start workers.
  let start: Words
  let workers: [Standing]
  let moreWorkers: String?
  let servers: [Standing]
  let checks: [Standing]
  let checkedAt: String?
}
