import Locking

/// Opens once, for all that wait.
public final class Gate: Sendable {
  private let isOpen = Locked(false)

  public init() {}

  public var hasOpened: Bool { isOpen.withLock { $0 } }
  public func open() { isOpen.withLock { $0 = true } }
  public func wait() async throws { try await eventually("the gate opens") { hasOpened } }
}
