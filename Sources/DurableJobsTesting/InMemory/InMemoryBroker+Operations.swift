import DurableJobs

extension InMemoryBroker {
  public func depth(of name: QueueName) -> QueueDepth {
    let queue = queues[name, default: Queue()]
    func count(_ priority: JobPriority) -> Int {
      (queue.returned[priority]?.count ?? 0) + (queue.ready[priority]?.count ?? 0)
    }
    let heads = queue.ready.values.compactMap(\.first?.since) + queue.returned.values.compactMap(\.first?.since)
    return QueueDepth(
      high: count(.high), normal: count(.normal), low: count(.low), claimed: queue.claimed.count,
      delayed: queue.delayed.count, known: queue.known.count, workers: queue.leases.count, oldestReadyAt: heads.min())
  }

  public func remove(_ ids: [JobID], from name: QueueName) -> [JobID] {
    take(Set(ids), from: name).map(\.id)
  }

  public func reschedule(_ ids: [JobID], in name: QueueName, to due: Int64) -> [JobID] {
    let wait = due - JobClock.milliseconds
    var wanted = Set(ids)
    var moved: [JobID] = []
    if wait <= 0 {
      // What is ready already keeps its place.
      let ready = readyIDs(name).filter(wanted.contains)
      moved += ready
      wanted.subtract(ready)
    }
    for record in take(wanted, from: name) {
      if record.isDurable { queues[name]?.known.insert(record.id) }
      if wait > 0 {
        queues[name]?.delayed.append((.now + .milliseconds(wait), record))
      } else {
        makeReady(record)
      }
      moved.append(record.id)
    }
    return moved
  }

  public func clear(_ name: QueueName) -> Int {
    let all = readyIDs(name) + (queues[name]?.delayed ?? []).map(\.record.id)
    return take(Set(all), from: name).count
  }

  public func rememberPause(_ isPaused: Bool, of name: QueueName) {
    queues[name, default: Queue()].isPaused = isPaused
  }

  public func remembersPause(of name: QueueName) -> Bool { queues[name]?.isPaused ?? false }

  private func readyIDs(_ name: QueueName) -> [JobID] {
    let queue = queues[name, default: Queue()]
    return queue.ready.values.joined().map(\.record.id) + queue.returned.values.joined().map(\.record.id)
  }

  /// Takes out what nobody has claimed.
  private func take(_ ids: Set<JobID>, from name: QueueName) -> [JobRecord] {
    var taken: [JobRecord] = []
    for priority in JobPriority.allCases {
      taken += queues[name]?.ready[priority]?.filter { ids.contains($0.record.id) }.map(\.record) ?? []
      queues[name]?.ready[priority]?.removeAll { ids.contains($0.record.id) }
      taken += queues[name]?.returned[priority]?.filter { ids.contains($0.record.id) }.map(\.record) ?? []
      queues[name]?.returned[priority]?.removeAll { ids.contains($0.record.id) }
    }
    taken += queues[name]?.delayed.filter { ids.contains($0.record.id) }.map(\.record) ?? []
    queues[name]?.delayed.removeAll { ids.contains($0.record.id) }
    for record in taken { queues[name]?.known.remove(record.id) }
    return taken
  }
}
