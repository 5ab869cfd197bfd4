/// Random numbers that are the same in every run, by SplitMix64 (Steele, Lea, Flood 2014).
struct SeededNumbers: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// - Parameter stream: sequences of different streams are independent, so that drawing one thing more from one of
  ///   them does not change what the others give.
  init(seed: UInt64, stream: UInt64 = 0) {
    state = seed ^ (stream &* 0xD1B5_4A32_D192_ED03)
    // Nearby seeds would begin with nearby numbers.
    _ = next()
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 up to, not including, `limit`, which is 1 or more.
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// A number from 0 up to, not including, 1.
  mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

  mutating func between(_ low: Double, _ high: Double) -> Double { low + (high - low) * unit() }

  /// True in `percent` of 100 cases.
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// An element of a list that has one.
  mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }

  /// The list in another order.
  mutating func shuffled<Element>(_ list: [Element]) -> [Element] {
    var list = list
    for last in stride(from: list.count - 1, to: 0, by: -1) { list.swapAt(last, below(last + 1)) }
    return list
  }
}
