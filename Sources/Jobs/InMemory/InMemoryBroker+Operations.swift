extension InMemoryBroker {
  public func depth(of name: QueueName) -> QueueDepth {
    let queue = queues[name, default: Queue()]
    return QueueDepth(
      high: queue.ready[.high]?.count ?? 0, normal: queue.ready[.normal]?.count ?? 0,
      low: queue.ready[.low]?.count ?? 0, claimed: queue.claimed.count, delayed: queue.delayed.count,
      known: queue.known.count, workers: queue.leases.count,
      oldestReadyAt: queue.ready.values.compactMap(\.first?.since).min())
  }

  public func remove(_ ids: [JobID], from name: QueueName) -> [JobID] {
    take(Set(ids), from: name).map(\.id)
  }

  public func reschedule(_ ids: [JobID], in name: QueueName, to due: Int64) -> [JobID] {
    let wait = due - unixMilliseconds()
    var wanted = Set(ids)
    var moved: [JobID] = []
    if wait <= 0 {
      // What is ready already keeps its place.
      let ready = (queues[name]?.ready ?? [:]).values.joined().map(\.record.id).filter(wanted.contains)
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
    let queue = queues[name, default: Queue()]
    let all = queue.ready.values.joined().map(\.record.id) + queue.delayed.map(\.record.id)
    return take(Set(all), from: name).count
  }

  /// Takes out what nobody has claimed.
  private func take(_ ids: Set<JobID>, from name: QueueName) -> [JobRecord] {
    var taken: [JobRecord] = []
    for priority in JobPriority.allCases {
      taken += queues[name]?.ready[priority]?.filter { ids.contains($0.record.id) }.map(\.record) ?? []
      queues[name]?.ready[priority]?.removeAll { ids.contains($0.record.id) }
    }
    taken += queues[name]?.delayed.filter { ids.contains($0.record.id) }.map(\.record) ?? []
    queues[name]?.delayed.removeAll { ids.contains($0.record.id) }
    for record in taken { queues[name]?.known.remove(record.id) }
    return taken
  }
}
