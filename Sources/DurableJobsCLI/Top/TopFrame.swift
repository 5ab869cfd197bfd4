import DurableJobsAdmin
import Foundation

/// The live screen's lines for a given terminal size.
struct TopFrame {
  let model: TopModel
  let columns: Int
  let rows: Int
  let isColored: Bool
  /// The screen's title.
  var title = "top"

  /// A section of the screen: its table, and the choice behind each row.
  private struct Part {
    let table: Table
    let choices: [TopModel.Choice]
    let empty: String
  }

  static let keys = "↑↓ move  Tab next part  p pause/resume  r retry  c cancel  q quit"

  /// Exactly as many lines as the terminal has rows.
  var lines: [String] {
    guard let view = model.view else {
      return fill([title, "", model.message.isEmpty ? "loading …" : model.message])
    }
    let parts = [queues(view), workers(view), failures(view)]
    // The header, the two footer lines and a heading per section.
    var sizes = share(max(0, rows - 3 - parts.count), among: parts.map { max(1, $0.choices.count) })
    // The last section gets the unused lines, so that the footer stays in place.
    sizes[sizes.count - 1] += max(0, rows - 3 - parts.count - sizes.reduce(0, +))
    return fill([head(view)] + zip(parts, sizes).flatMap { lines(of: $0, $1) })
  }

  /// Pads the lines to the terminal's height, with the footer last.
  private func fill(_ lines: [String]) -> [String] {
    let body = Array(lines.prefix(max(0, rows - 2)))
    let blank = [String](repeating: "", count: max(0, rows - 2 - body.count))
    let said = (model.question?.text ?? (model.message.isEmpty ? chosen : model.message)).oneLine.cut(to: columns)
    return body + blank + [
      model.question == nil ? said : Style.yellow.paint(said, isColored: isColored),
      Style.dim.paint(Self.keys.cut(to: columns), isColored: isColored),
    ]
  }

  /// The full text of the chosen line, which the tables may shorten.
  private var chosen: String {
    switch model.choice {
    case .running(let id): "job \(id)"
    case .failure(let id):
      "job \(id): \(model.view?.failures.first { $0.id == id }?.error ?? "")"
    case .worker(let name): "worker \(name)"
    case .queue(let name): "queue \(name)"
    case nil: ""
    }
  }

  private func head(_ view: LiveView) -> String {
    let time = view.at.formatted(.iso8601.time(includingFractionalSeconds: false))
    let text =
      " \(title)  \(time)  \(view.rate.rate) jobs/s  \(view.failuresPerMinute.rate) failed/min  "
      + "\(view.waiting.grouped) waiting  \(view.workers.count.grouped) workers"
    return "\u{1B}[\(Style.reversed.rawValue)m\(text.fitted(to: columns))\u{1B}[0m"
  }

  private func queues(_ view: LiveView) -> Part {
    let table = Table(
      [
        .elastic("queue"), .number("waiting"), .number("later"), .number("running"), .number("jobs/s"),
        .number("failed"), .number("takes"), .number("oldest"), .state(""),
      ],
      rows: view.queues.map { queue in
        [
          queue.queue, queue.ready.grouped, queue.delayed.grouped, queue.claimed.grouped, queue.rate.rate,
          queue.failed.grouped, queue.meanRun?.span ?? "", queue.oldestWaiting?.span ?? "",
          queue.isPaused ? "paused" : "",
        ]
      })
    return Part(table: table, choices: view.queues.map { .queue($0.queue) }, empty: "no queues")
  }

  private func workers(_ view: LiveView) -> Part {
    var rows: [[String]] = []
    var choices: [TopModel.Choice] = []
    for worker in view.workers {
      rows.append([worker.name, worker.state, "\(worker.running.count.grouped) jobs", worker.since.span])
      choices.append(.worker(worker.name))
      for job in worker.running {
        rows.append(["  \(job.kind)", "", job.attempt > 1 ? "attempt \(job.attempt)" : "", job.since.span])
        choices.append(.running(job.id))
      }
    }
    let table = Table(
      [.elastic("worker and its jobs"), .state(), .text("jobs"), .number("since")], rows: rows)
    return Part(table: table, choices: choices, empty: "no worker is running")
  }

  private func failures(_ view: LiveView) -> Part {
    let table = Table(
      [.text("failed"), .state(), .text("kind"), .elastic("error")],
      rows: view.failures.map { job in
        [job.at.away(from: view.at), job.state.rawValue, job.kind, job.error]
      })
    return Part(table: table, choices: view.failures.map { .failure($0.id) }, empty: "no failures")
  }

  private func lines(of part: Part, _ size: Int) -> [String] {
    if part.choices.isEmpty {
      let lines = [part.empty] + [String](repeating: "", count: max(0, size))
      return Array(lines.prefix(size + 1)).map { Style.dim.paint($0, isColored: isColored && !$0.isEmpty) }
    }
    let place = model.choice.flatMap { part.choices.firstIndex(of: $0) }
    let plain = part.table.lines(width: columns, isColored: false)
    let colored = part.table.lines(width: columns, isColored: isColored)
    // The chosen row is always visible.
    let first = max(0, min((place ?? 0) - size + 1, part.choices.count - size))
    let last = min(part.choices.count, first + size)
    var lines = [colored[0]]
    for row in first..<last {
      lines.append(
        row == place
          ? "\u{1B}[\(Style.reversed.rawValue)m\(plain[row + 1].fitted(to: columns))\u{1B}[0m" : colored[row + 1])
    }
    return lines + [String](repeating: "", count: size + 1 - lines.count)
  }

  /// Distributes lines among sections of given sizes: a few to each first, then in turn.
  private func share(_ lines: Int, among wanted: [Int]) -> [Int] {
    var sizes = wanted.map { _ in 0 }
    var left = lines
    while left > 0, let part = sizes.indices.filter({ sizes[$0] < wanted[$0] }).min(by: { sizes[$0] < sizes[$1] }) {
      sizes[part] += 1
      left -= 1
    }
    return sizes
  }
}
