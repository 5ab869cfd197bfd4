import CurlClient
import Reactor
import Social

extension Program {
  /// Runs `body` with the picture store. A bucket uses a separate event loop, so that encryption does not delay
  /// statements.
  ///
  /// - Throws: ``SettingsError`` for an unusable URL, and any error that `body` throws.
  public func withMediaStore<Result: Sendable>(_ body: (any MediaStore) async throws -> Result) async throws -> Result {
    guard settings.mediaURL != nil else { return try await body(MediaFolder(path: settings.mediaDir)) }
    let loop = EventLoop(name: "fanmill-media")
    defer { loop.stop() }
    var opened: HTTPClient?
    let store = try settings.mediaStore { configuration in
      let client = try HTTPClient(configuration: configuration, loop: loop, logger: logger)
      opened = client
      return client
    }
    do {
      let result = try await body(store)
      await opened?.close()
      return result
    } catch {
      await opened?.close()
      throw error
    }
  }
}
