/// What a queue's state has to know of a kind that runs here.
struct KindLimits: Sendable {
  /// How many of its jobs run together; nil for a kind that runs one by one.
  var batch: Int?
  /// How long its handler may take; nil for as long as it likes.
  var timeout: Duration?
  /// After how many attempts a job that fails is dead.
  var maxAttempts = Int.max
}

/// The kinds that run here, each under a number, so that a claim's kind is looked up once.
struct KindTable: Sendable {
  private let places: [JobKind: Int]
  private let limits: [KindLimits]
  /// As many jobs as two batches of the largest kind hold.
  let twoBatches: Int

  /// - Parameter kinds: in the order of their places.
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

  /// A kind's place; nil for one that does not run here.
  func place(of kind: JobKind) -> Int? { places[kind] }

  subscript(place: Int) -> KindLimits { limits[place] }
}
