import DurableJobs

/// Ids in order. Most arrive in order, so adding one is cheap; ids of ended jobs are removed occasionally.
struct IDOrder: Sendable {
  private(set) var ids: [JobID] = []

  mutating func insert(_ id: JobID) {
    if let last = ids.last, last >= id {
      let place = firstIndex { $0 >= id }
      if ids[place] != id { ids.insert(id, at: place) }
    } else {
      ids.append(id)
    }
  }

  /// The index of the first id greater than `id`; 0 for nil.
  func firstIndex(after id: JobID?) -> Int {
    guard let id else { return 0 }
    return firstIndex { $0 > id }
  }

  /// Drops ids that are not in `pending`, once they are the majority.
  mutating func compact(toThoseIn pending: [JobID: JobRecord], count: Int) {
    if ids.count > 2 * count + 64 { ids.removeAll { pending[$0] == nil } }
  }

  private func firstIndex(where isBeyond: (JobID) -> Bool) -> Int {
    var (low, high) = (0, ids.count)
    while low < high {
      let middle = (low + high) / 2
      if isBeyond(ids[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
