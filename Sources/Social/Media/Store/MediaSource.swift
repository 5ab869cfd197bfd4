/// Where a client's answer gets an object from.
public enum MediaSource: Hashable, Sendable {
  /// A file of this machine, which never changes: it is only replaced by the same bytes, or removed.
  case file(path: String, bytes: Int)
  /// A signed URL, valid for 15 minutes, to which the client is redirected. It is for the client alone: no log.
  case redirect(url: String)
}
