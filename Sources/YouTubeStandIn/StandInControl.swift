import Foundation
import Locking

/// The state behind the routes: known channels, usage counts, and ordered faults.
public final class StandInControl: Sendable {
  /// A fault ordered through the control route.
  struct Order: Sendable {
    var fault: StandInFault
    /// The number of calls it still affects; nil for all.
    var times: Int?
    /// The key it affects; nil for any.
    var key: String?
    /// The route it affects; nil for both.
    var route: StandInUsage.Route?
    /// For `slow` and `trickle`.
    var seconds: Double?
  }

  private struct State {
    var usage = StandInUsage()
    var orders: [Order] = []
    /// Channels found by name or handle, which an id alone does not determine.
    var named: [String: StandInChannel] = [:]
    /// By id: a new title, or nil for a deleted channel.
    var changes: [String: String?] = [:]
  }

  public let configuration: StandInConfiguration
  private let state = Locked(State())
  private let now: @Sendable () -> Date
  /// The limit for remembered channels, so that a long run does not exhaust memory.
  private static let memory = 200_000

  /// - Parameter now: the clock for the daily budgets.
  public init(configuration: StandInConfiguration, now: @escaping @Sendable () -> Date = { Date() }) {
    self.configuration = configuration
    self.now = now
  }

  // MARK: Calls

  /// Counts a call, and returns the reason if it gets no normal response: first an ordered fault, then an unknown key
  /// or a spent budget.
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

  /// - Parameter title: nil deletes the channel.
  func change(_ id: String, title: String?) { state.withLock { $0.changes[id] = .some(title) } }

  var usage: StandInUsage { state.withLock { $0.usage } }
}
