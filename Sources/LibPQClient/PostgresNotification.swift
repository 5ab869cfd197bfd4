/// What another session told by NOTIFY.
public struct PostgresNotification: Hashable, Sendable {
  public let channel: String
  public let payload: String
  /// The process of the session that sent it.
  public let sender: Int32
}
