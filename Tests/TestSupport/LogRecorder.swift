import Locking
import Logging

/// Records all log messages of any level, a line each, with their metadata.
public struct LogRecorder: LogHandler {
  public var metadata: Logger.Metadata = [:]
  public var logLevel = Logger.Level.trace
  private let log: Locked<[String]>

  public init(_ log: Locked<[String]>) { self.log = log }

  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  public func log(event: LogEvent) {
    log.withLock { $0.append("\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:])") }
  }
}
