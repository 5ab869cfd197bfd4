import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The URL sessions of a transport.
///
/// On Apple's platforms one does for everything. Foundation on other platforms needs more:
/// - It reads the timeout from a session's configuration and ignores that of a request.
/// - It repeats a request by itself if a kept connection turns out to be dead, and the second time announces a body but
///   sends none. A request with a body therefore gets a session of its own, which has no kept connection.
struct URLSessionLines: Sendable {
  /// A URL session and its delegate.
  struct Line: Sendable {
    let session: URLSession
    private let exchanges: Exchanges

    init(_ configuration: URLSessionConfiguration) {
      exchanges = Exchanges()
      session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    /// Starts a task of the session.
    ///
    /// - Returns: the body to come. The task is cancelled with the last reference to it.
    func start(_ exchange: Exchange, _ task: URLSessionTask) throws -> ExchangeBody {
      let body = ExchangeBody(exchange)
      try Task.checkCancellation()
      exchanges.add(exchange, task.taskIdentifier)
      exchange.start()
      return body
    }
  }

  #if canImport(FoundationNetworking)
    private let configuration: URLSessionConfiguration
    private let shared = Locked<[Duration: Line]>([:])

    init(_ configuration: URLSessionConfiguration) { self.configuration = configuration }

    private func line(_ timeout: Duration) -> Line {
      let own = configuration.copy() as? URLSessionConfiguration ?? configuration
      own.timeoutIntervalForRequest = timeout / .seconds(1)
      return Line(own)
    }

    private func line(timeout: Duration, hasBody: Bool) -> Line {
      if hasBody { return line(timeout) }
      return shared.withLock { lines in
        if let known = lines[timeout] { return known }
        let new = line(timeout)
        lines[timeout] = new
        return new
      }
    }

    func close() {
      for line in shared.withLock(\.values) { line.session.finishTasksAndInvalidate() }
    }
  #else
    private let shared: Line

    init(_ configuration: URLSessionConfiguration) { shared = Line(configuration) }

    private func line(timeout: Duration, hasBody: Bool) -> Line { shared }

    func close() { shared.session.finishTasksAndInvalidate() }
  #endif

  /// Starts a request on a session that suits it, and waits for the beginning of the response.
  func with(
    timeout: Duration, hasBody: Bool, _ start: (Line) throws -> ExchangeBody
  ) async throws -> TransportStream {
    let line = line(timeout: timeout, hasBody: hasBody)
    #if canImport(FoundationNetworking)
      // The session goes with its one task.
      defer { if hasBody { line.session.finishTasksAndInvalidate() } }
    #endif
    let body = try start(line)
    return TransportStream(head: try await body.head(), body: ByteStream(body))
  }
}

/// The running exchanges of a URL session, by their tasks' identifiers.
final class Exchanges: NSObject, URLSessionDataDelegate, Sendable {
  private let running = Locked<[Int: Exchange]>([:])

  func add(_ exchange: Exchange, _ task: Int) { running.withLock { $0[task] = exchange } }

  private func exchange(_ task: URLSessionTask) -> Exchange? {
    running.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if let head = Self.head(response) { exchange(dataTask)?.receive(head) }
    completionHandler(.allow)
  }

  private static func head(_ response: URLResponse?) -> TransportHead? {
    guard let response = response as? HTTPURLResponse else { return nil }
    var headers: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields {
      headers[name.lowercased()] = value
    }
    return TransportHead(status: response.statusCode, headers: headers)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(dataTask)?.receive(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    exchange(task)?.receive(UploadProgress(sent: totalBytesSent, total: totalBytesExpectedToSend))
  }

  /// Redirects are followed by the client, which knows where a token may go.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    if let head = Self.head(response) { exchange(task)?.receive(head) }
    completionHandler(nil)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let exchange = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    exchange.end(error.map { .failure($0) } ?? .success(()))
  }
}
