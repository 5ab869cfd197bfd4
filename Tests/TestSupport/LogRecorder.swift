import Locking
import Logging

/// Keeps all that is logged, whatever its level: a line each, with its metadata.
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
