import DurableJobs

/// The keys of one queue. All contain the queue's hash tag, so that they share a slot of a Redis Cluster.
///
/// | key | type | what |
/// |---|---|---|
/// | `…:high`, `…:normal`, `…:low` | stream | ready and claimed jobs by priority; pending entries are claims |
/// | `…:high:returned`, … | stream | the same for jobs that consumers handed back, which come first in their priority |
/// | `…:timers` | sorted set | by milliseconds: `w` + consumer, the end of its lease; `d` + job id, when it is due |
/// | `…:delayed` | hash | job id → record of a job that is not due yet |
/// | `…:known` | hash | durable job id → `d`, or its stream's number and entry; `hold` while durable jobs are refused |
/// | `…:epoch` | string | a random value, drawn each time the broker starts empty |
/// | `…:pulse` | string | when a consumer last renewed its lease, in milliseconds |
/// | `…:begun` | hash | stream's number and entry of claims whose jobs have begun; `joined`, so that it always exists |
/// | `…:paused` | string | exists while the queue is paused, as far as the broker knows |
struct QueueKeys: Sendable {
  /// Ready jobs by priority, then returned ones by priority. Scripts and receipts number them from 1.
  let streams: [String]
  let timers: String
  let delayed: String
  let known: String
  let epoch: String
  let pulse: String
  let begun: String
  let paused: String

  /// Stream numbers, less one, in reading order.
  static let readOrder = [3, 0, 4, 1, 5, 2]
  static let priorities = 3

  init(prefix: String, queue: QueueName) {
    let base = "\(prefix):{\(queue)}"
    let ready = ["high", "normal", "low"].map { "\(base):\($0)" }
    streams = ready + ready.map { "\($0):returned" }
    timers = "\(base):timers"
    delayed = "\(base):delayed"
    known = "\(base):known"
    epoch = "\(base):epoch"
    pulse = "\(base):pulse"
    begun = "\(base):begun"
    paused = "\(base):paused"
  }

  /// In the order that every script expects.
  var all: [String] { streams + [timers, delayed, known, epoch, pulse, begun] }
}
