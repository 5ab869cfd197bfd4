/// A kind's limits that a queue's state uses.
struct KindLimits: Sendable {
  /// The maximum number of its jobs that run together; nil for a kind that runs one by one.
  var batch: Int?
  /// How long its handler may run; nil for no limit.
  var timeout: Duration?
  /// Number of attempts after which a failing job is dead.
  var maxAttempts = Int.max
}

/// The kinds that run here, each with an index, so that a claim's kind is looked up once.
struct KindTable: Sendable {
  private let places: [JobKind: Int]
  private let limits: [KindLimits]
  /// Number of jobs in two batches of the largest kind.
  let twoBatches: Int

  /// - Parameter kinds: in the order of their indices.
  init(_ kinds: [(kind: JobKind, limits: KindLimits)]) {
    places = Dictionary(uniqueKeysWithValues: zip(kinds.map(\.kind), kinds.indices))
    limits = kinds.map(\.limits)
    twoBatches = 2 * (limits.compactMap(\.batch).max() ?? 0)
  }

  init<L: Ledger>(_ registry: JobRegistry<L>) {
    self.init(
      registry.kinds.compactMap { kind in
        registry.entries[kind].map { entry in
          let limits = KindLimits(
            batch: entry.handler.batchLimit, timeout: entry.timeout, maxAttempts: entry.retry.maxAttempts)
          return (kind, limits)
        }
      })
  }

  var count: Int { limits.count }

  /// A kind's index; nil for one that does not run here.
  func place(of kind: JobKind) -> Int? { places[kind] }

  subscript(place: Int) -> KindLimits { limits[place] }
}
