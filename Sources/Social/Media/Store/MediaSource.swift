/// The source of an object in a response.
public enum MediaSource: Hashable, Sendable {
  /// A local file that never changes: it is only replaced by the same bytes, or removed.
  case file(path: String, bytes: Int)
  /// A signed URL, valid for 15 minutes, to redirect the client to. It is only for the client and must not be logged.
  case redirect(url: String)
}
