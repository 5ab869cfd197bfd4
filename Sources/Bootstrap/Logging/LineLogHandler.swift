import Glibc
import Logging

/// Writes each log event as one line, with known secrets masked.
public struct LineLogHandler: LogHandler {
  public var metadata: Logger.Metadata = [:]
  public var metadataProvider: Logger.MetadataProvider?
  public var logLevel: Logger.Level

  private let label: String
  private let format: LogFormat
  private let secrets: [String]
  private let now: @Sendable () -> timespec
  private let write: @Sendable (String) -> Void

  /// - Parameters:
  ///   - label: the logger's name, part of the line.
  ///   - secrets: texts to replace with stars wherever they occur. Texts under four characters are not replaced,
  ///     because they would match everywhere.
  ///   - now: the time since 1970.
  ///   - write: receives each line, with its line feed.
  public init(
    label: String, format: LogFormat, level: Logger.Level, secrets: [String] = [],
    metadataProvider: Logger.MetadataProvider? = nil, now: @escaping @Sendable () -> timespec = Self.clock,
    write: @escaping @Sendable (String) -> Void = Self.writeToStandardError
  ) {
    self.label = label
    self.format = format
    self.secrets = secrets.filter { $0.utf8.count >= 4 }.sorted { $0.utf8.count > $1.utf8.count }
    self.metadataProvider = metadataProvider
    logLevel = level
    self.now = now
    self.write = write
  }

  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  public func log(event: LogEvent) {
    var fields = metadata
    if let provided = metadataProvider?.get() { fields.merge(provided) { $1 } }
    if let own = event.metadata { fields.merge(own) { $1 } }
    if let error = event.error, fields["error"] == nil { fields["error"] = "\(error)" }
    let line = LogLine(
      time: now(), level: event.level, label: label, message: redacted(event.message.description),
      fields: fields.map { (redacted($0.key), redacted($0.value.description)) }.sorted { $0.0 < $1.0 })
    write(format == .json ? line.json : line.text)
  }

  private func redacted(_ text: String) -> String {
    var text = text
    for secret in secrets where text.contains(secret) {
      text = text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "***")
    }
    return text
  }

  public static let clock: @Sendable () -> timespec = {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time
  }

  /// One `write` per line, so that lines from several threads and processes do not interleave.
  public static let writeToStandardError: @Sendable (String) -> Void = { line in
    var line = line
    line.withUTF8 { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let written = Glibc.write(STDERR_FILENO, UnsafeBufferPointer(rebasing: rest).baseAddress, rest.count)
        if written < 0 && errno != EINTR { return }  // A failed log write cannot be reported anywhere.
        rest = rest.dropFirst(max(0, written))
      }
    }
  }
}
