import Foundation
import Locking

/// The state behind the routes: what is known of channels, what was counted, which troubles were ordered.
public final class StandInControl: Sendable {
  /// A trouble that the control route ordered.
  struct Order: Sendable {
    var fault: StandInFault
    /// How many more calls it meets; nil for all that come.
    var times: Int?
    /// Only for this key; nil for any.
    var key: String?
    /// Only for this route; nil for both.
    var route: StandInUsage.Route?
    /// For `slow` and `trickle`.
    var seconds: Double?
  }

  private struct State {
    var usage = StandInUsage()
    var orders: [Order] = []
    /// Channels that were found by a name or a handle: from an id alone those could not be told.
    var named: [String: StandInChannel] = [:]
    /// By id: another title, or nil for a channel that is gone.
    var changes: [String: String?] = [:]
  }

  public let configuration: StandInConfiguration
  private let state = Locked(State())
  private let now: @Sendable () -> Date
  /// More named channels than these are not remembered, so that a long run does not fill the memory.
  private static let memory = 200_000

  /// - Parameter now: the clock by which budgets last a day.
  public init(configuration: StandInConfiguration, now: @escaping @Sendable () -> Date = { Date() }) {
    self.configuration = configuration
    self.now = now
  }

  // MARK: Calls

  /// Counts a call, and says why it gets no ordinary answer: first what was ordered, then an unknown key or a spent
  /// budget.
  func admit(_ route: StandInUsage.Route, key: String?, text: String) -> (order: Order?, error: StandInError?) {
    guard let key, !key.isEmpty else { return (nil, .unregistered) }
    let (configuration, date) = (configuration, now())
    return state.withLock { state in
      state.usage.count(route, key: key)
      let refusal = state.usage.spend(route, key: key, at: date, configuration)
      if let fault = StandInFault(in: text) { return (Order(fault: fault), nil) }
      let index = state.orders.firstIndex { $0.key ?? key == key && $0.route ?? route == route }
      if let index {
        let order = state.orders[index]
        if let times = order.times {
          state.orders[index].times = times - 1
          if times <= 1 { state.orders.remove(at: index) }
        }
        return (order, nil)
      }
      if let keys = configuration.keys, !keys.contains(key) { return (nil, StandInError(.apiKeyInvalid)) }
      return (nil, refusal)
    }
  }

  func countNotModified(key: String) { state.withLock { $0.usage.countNotModified(key: key) } }

  // MARK: Channels

  func search(_ query: String) -> [StandInChannel] { known(StandInChannel.search(query, seed: configuration.seed)) }

  func channel(handle: String) -> StandInChannel? {
    known([StandInChannel.withHandle(handle, seed: configuration.seed)].compactMap(\.self)).first
  }

  func channels(ids: [String]) -> [StandInChannel] {
    let seed = configuration.seed
    let found = state.withLock { state in ids.map { state.named[$0] } }
    return changed(zip(ids, found).compactMap { $1 ?? StandInChannel.unnamed($0, seed: seed) })
  }

  private func known(_ channels: [StandInChannel]) -> [StandInChannel] {
    state.withLock { state in
      for channel in channels where state.named.count < Self.memory { state.named[channel.id] = channel }
    }
    return changed(channels)
  }

  private func changed(_ channels: [StandInChannel]) -> [StandInChannel] {
    let changes = state.withLock { $0.changes }
    if changes.isEmpty { return channels }
    return channels.compactMap { channel in
      guard let change = changes[channel.id] else { return channel }
      return change.map { channel.renamed($0) }
    }
  }

  // MARK: Control

  func order(_ order: Order) { state.withLock { $0.orders.append(order) } }

  func cancelOrders() { state.withLock { $0.orders = [] } }

  /// - Parameter title: nil lets the channel be gone.
  func change(_ id: String, title: String?) { state.withLock { $0.changes[id] = .some(title) } }

  var usage: StandInUsage { state.withLock { $0.usage } }
}
