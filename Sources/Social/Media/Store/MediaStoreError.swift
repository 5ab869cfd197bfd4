import Glibc

/// The reason that a store operation failed.
public struct MediaStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure. Handle the ones you need and give the rest a default; more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case missing, refused, unreachable, diskFull, folder, file, malformed, tooLarge, invalid
    }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    /// The object does not exist.
    public static let missing = Code(.missing)
    /// The store refuses; `reason` is its error code.
    public static let refused = Code(.refused)
    /// The store is unreachable or busy: a retry may succeed.
    public static let unreachable = Code(.unreachable)
    /// No space is left, on this machine's disk or in the store.
    public static let diskFull = Code(.diskFull)
    /// The store's folder cannot be used.
    public static let folder = Code(.folder)
    /// The local file, source or destination, cannot be used.
    public static let file = Code(.file)
    /// The response is not valid S3.
    public static let malformed = Code(.malformed)
    /// The object is larger than a picture may be.
    public static let tooLarge = Code(.tooLarge)
    /// The store's address is invalid.
    public static let invalid = Code(.invalid)

    public var description: String { kind.rawValue }
  }

  public let code: Code
  /// The store's error code, such as `AccessDenied` or `NoSuchBucket`; nil if it gave none.
  public let reason: String?
  /// What was wrong, where, and what to do. Never contains a secret or a signature.
  public let message: String

  public init(_ code: Code, _ message: String, reason: String? = nil) {
    self.code = code
    self.message = message
    self.reason = reason
  }

  public var description: String { "media store \(code): \(message)" }
}

extension MediaStoreError {
  static func missing(_ key: MediaKey, in store: String) -> MediaStoreError {
    MediaStoreError(.missing, "there is no object \(key) in \(store)")
  }

  /// A system error in the store's folder.
  ///
  /// - Parameter number: `errno`.
  static func folder(_ path: String, _ number: Int32) -> MediaStoreError {
    let reason = String(cString: strerror(number))
    switch number {
    case ENOSPC, EDQUOT: return .diskFull(path, reason)
    case EACCES, EPERM, EROFS:
      return MediaStoreError(
        .folder,
        "\(path): \(reason): make this process's user the owner of the folder, with write access, or name another in "
          + "FANMILL_MEDIA_DIR")
    case ENOTDIR, ELOOP:
      return MediaStoreError(.folder, "\(path) is not the expected folder or file: remove it")
    default: return MediaStoreError(.folder, "\(path): \(reason): check the disk")
    }
  }

  /// A system error with a local file.
  ///
  /// - Parameter number: `errno`.
  static func file(_ path: String, _ number: Int32) -> MediaStoreError {
    let reason = String(cString: strerror(number))
    return number == ENOSPC || number == EDQUOT
      ? .diskFull(path, reason) : MediaStoreError(.file, "\(path): \(reason)")
  }

  private static func diskFull(_ path: String, _ reason: String) -> MediaStoreError {
    MediaStoreError(.diskFull, "\(path): \(reason): free some space on its disk, or enlarge it")
  }
}
