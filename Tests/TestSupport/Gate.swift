import Locking

/// A gate that opens once, for all waiters.
public final class Gate: Sendable {
  private let isOpen = Locked(false)

  public init() {}

  public var hasOpened: Bool { isOpen.withLock { $0 } }
  public func open() { isOpen.withLock { $0 = true } }
  public func wait() async throws { try await eventually("the gate opens") { hasOpened } }
}
