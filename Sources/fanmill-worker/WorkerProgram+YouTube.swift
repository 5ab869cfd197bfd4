import Bootstrap
import CurlClient
import Reactor
import Social

extension Program {
  /// Runs `body` with a way to YouTube, on a loop of its own: encryption keeps no statement waiting.
  ///
  /// - Throws: where the URL in the settings cannot be used, and what `body` throws.
  func withYouTube(_ servers: Servers, _ body: (YouTube) async throws -> Void) async throws {
    let loop = EventLoop(name: "fanmill-http")
    defer { loop.stop() }
    let client = try HTTPClient(configuration: YouTubeHTTP.configuration, loop: loop, logger: logger)
    guard let transport = YouTubeHTTP(url: settings.youtubeURL, client: client) else {
      throw settings.refusal(of: .youtubeURL, value: settings.youtubeURL, because: "not the URL of a server")
    }
    let youtube = YouTube(
      transport: transport, rules: settings.lookupRules, pool: servers.postgres, logger: logger)
    do {
      try await body(youtube)
    } catch {
      await client.close()
      throw error
    }
    await client.close()
  }
}
