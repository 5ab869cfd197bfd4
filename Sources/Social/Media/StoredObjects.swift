/// The objects of a store in key order, with one page at a time in memory.
struct StoredObjects {
  private let store: any MediaStore
  private var page: ArraySlice<StoredObject> = []
  private var last: MediaKey?
  private var isAtEnd = false

  init(_ store: any MediaStore) { self.store = store }

  /// The next objects of files up to `file`; all remaining ones if nil.
  mutating func next(upTo file: String?) async throws -> [StoredObject] {
    var found: [StoredObject] = []
    while true {
      if page.isEmpty, !isAtEnd {
        page = try await store.objects(after: last)[...]
        isAtEnd = page.isEmpty
        last = page.last?.key ?? last
      }
      let taken = page.prefix { object in file.map { object.key.file <= $0 } ?? true }
      found += taken
      page = page.dropFirst(taken.count)
      if !page.isEmpty || isAtEnd { return found }
    }
  }
}
