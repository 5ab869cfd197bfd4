#if AsyncHTTPClientTransport
  import AsyncHTTPClient
  import Foundation
  import NIOCore
  import NIOHTTP1

  /// Sends requests with AsyncHTTPClient, for servers that already have one.
  ///
  /// ```swift
  /// let http = HTTPClient(configuration: AsyncHTTPClientTransport.configuration)
  /// let client = FanmillClient(url: url, transport: AsyncHTTPClientTransport(http))
  /// ```
  public struct AsyncHTTPClientTransport: Transport {
    private let client: HTTPClient

    /// - Parameter client: must follow no redirects, and must keep connections that are silent for 45 seconds, as with
    ///   `configuration`. Its owner shuts it down.
    public init(_ client: HTTPClient) { self.client = client }

    /// The configuration that a transport needs. The default of AsyncHTTPClient follows redirects, and would take the
    /// session's token along.
    public static var configuration: HTTPClient.Configuration {
      HTTPClient.Configuration(
        redirectConfiguration: .disallow,
        timeout: HTTPClient.Configuration.Timeout(connect: .seconds(10), read: .seconds(120)))
    }

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
      try await execute(Self.request(request), within: request.timeout).collect()
    }

    public func upload(
      _ request: TransportRequest, from file: URL, progress: @escaping @Sendable (UploadProgress) -> Void
    ) async throws -> TransportResponse {
      let chunks = try FileChunks(file, progress: progress)
      var upload = Self.request(request)
      upload.body = .stream(chunks, length: .known(chunks.count))
      return try await execute(upload, within: nil).collect()
    }

    public func stream(_ request: TransportRequest) async throws -> TransportStream {
      try await execute(Self.request(request), within: nil)
    }

    private static func request(_ request: TransportRequest) -> HTTPClientRequest {
      var result = HTTPClientRequest(url: request.url.absoluteString)
      result.method = HTTPMethod(rawValue: request.method)
      for (name, value) in request.headers { result.headers.add(name: name, value: value) }
      if let body = request.body { result.body = .bytes(ByteBuffer(bytes: body)) }
      return result
    }

    /// - Parameter limit: the time for the whole response; nil to limit only its silences.
    private func execute(_ request: HTTPClientRequest, within limit: Duration?) async throws -> TransportStream {
      let response: HTTPClientResponse
      do {
        response = try await client.execute(
          request, deadline: limit.map { .now() + TimeAmount($0) } ?? .distantFuture)
      } catch let error as HTTPClientError where error == .cancelled {
        throw CancellationError()
      }
      var headers: [String: String] = [:]
      for (name, value) in response.headers { headers[name.lowercased()] = value }
      return TransportStream(
        head: TransportHead(status: Int(response.status.code), headers: headers),
        body: ByteStream(response.body.map { Data($0.readableBytesView) }))
    }
  }

  /// The content of a file, read as it is sent.
  private struct FileChunks: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private static let size = 65_536

    let file: URL
    let count: Int64
    let progress: @Sendable (UploadProgress) -> Void

    init(_ file: URL, progress: @escaping @Sendable (UploadProgress) -> Void) throws {
      self.file = file
      self.progress = progress
      let handle = try FileHandle(forReadingFrom: file)
      count = Int64(try handle.seekToEnd())
      try handle.close()
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self) }

    struct AsyncIterator: AsyncIteratorProtocol {
      let chunks: FileChunks
      private var handle: FileHandle?
      private var sent: Int64 = 0

      init(chunks: FileChunks) { self.chunks = chunks }

      mutating func next() async throws -> ByteBuffer? {
        let open = try handle ?? FileHandle(forReadingFrom: chunks.file)
        handle = open
        guard let data = try open.read(upToCount: FileChunks.size), !data.isEmpty else {
          try open.close()
          return nil
        }
        // Counted when the connection asks for more: it has room again.
        sent += Int64(data.count)
        chunks.progress(UploadProgress(sent: sent, total: chunks.count))
        return ByteBuffer(bytes: data)
      }
    }
  }
#endif
