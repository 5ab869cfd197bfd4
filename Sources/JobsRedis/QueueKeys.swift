import Jobs

/// The keys of one queue. All carry the queue's hash tag, so that they share a slot of a Redis Cluster.
///
/// | key | type | what |
/// |---|---|---|
/// | `…:high`, `…:normal`, `…:low` | stream | ready and claimed jobs by priority; pending entries are claims |
/// | `…:timers` | sorted set | by milliseconds: `w` + consumer, the end of its lease; `d` + job id, when it is due |
/// | `…:delayed` | hash | job id → record of a job that waits for its time |
/// | `…:known` | hash | durable job id → where it is: `d`, or its stream's number and entry |
/// | `…:epoch` | string | drawn anew each time the broker begins from nothing |
struct QueueKeys: Sendable {
  let streams: [String]
  let timers: String
  let delayed: String
  let known: String
  let epoch: String

  init(prefix: String, queue: QueueName) {
    let base = "\(prefix):{\(queue)}"
    streams = ["\(base):high", "\(base):normal", "\(base):low"]
    timers = "\(base):timers"
    delayed = "\(base):delayed"
    known = "\(base):known"
    epoch = "\(base):epoch"
  }

  /// The order in which every script expects them.
  var all: [String] { streams + [timers, delayed, known, epoch] }
}
