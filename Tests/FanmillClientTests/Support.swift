import Foundation
import Synchronization

@testable import FanmillClient

/// A transport that plays back what a test has scripted, and notes what it was asked.
final class ScriptedTransport: Transport {
  enum Step: Sendable {
    case response(TransportResponse)
    case failure(any Error)
    /// The chunks of a stream; it fails after the last one if `failure` is not nil.
    case stream([Data], failure: (any Error)? = nil)
    /// Never responds.
    case silence
  }

  private struct State {
    var steps: [Step]
    var requests: [TransportRequest] = []
  }

  private let state: Mutex<State>

  init(_ steps: [Step]) { state = Mutex(State(steps: steps)) }

  var requests: [TransportRequest] { state.withLock(\.requests) }

  private func take(_ request: TransportRequest) throws -> Step {
    try state.withLock { state in
      state.requests.append(request)
      guard !state.steps.isEmpty else { throw ScriptIsOver() }
      return state.steps.removeFirst()
    }
  }

  struct ScriptIsOver: Error {}

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    switch try take(request) {
    case .response(let response): return response
    case .failure(let error): throw error
    case .stream: throw ScriptIsOver()
    case .silence:
      try await Task.sleep(for: .seconds(600))
      throw ScriptIsOver()
    }
  }

  func upload(
    _ request: TransportRequest, from file: URL, progress: @escaping @Sendable (UploadProgress) -> Void
  ) async throws -> TransportResponse {
    let bytes = try Data(contentsOf: file)
    for sent in [bytes.count / 2, bytes.count] {
      progress(UploadProgress(sent: Int64(sent), total: Int64(bytes.count)))
    }
    var request = request
    request.body = bytes
    return try await send(request)
  }

  func stream(_ request: TransportRequest) async throws -> TransportStream {
    switch try take(request) {
    case .response(let response):
      return TransportStream(
        head: TransportHead(status: response.status, headers: response.headers), body: Self.body([response.body], nil))
    case .failure(let error): throw error
    case .stream(let chunks, let failure):
      return TransportStream(
        head: TransportHead(status: 200, headers: ["content-type": "text/event-stream"]),
        body: Self.body(chunks, failure))
    case .silence:
      try await Task.sleep(for: .seconds(600))
      throw ScriptIsOver()
    }
  }

  private static func body(_ chunks: [Data], _ failure: (any Error)?) -> ByteStream {
    ByteStream(
      AsyncThrowingStream { continuation in
        for chunk in chunks { continuation.yield(chunk) }
        continuation.finish(throwing: failure)
      })
  }
}

extension ScriptedTransport.Step {
  static func json(_ text: String, status: Int = 200, headers: [String: String] = [:]) -> Self {
    .response(
      TransportResponse(
        status: status, headers: headers.merging(["content-type": "application/json; charset=utf-8"]) { own, _ in own },
        body: Data(text.utf8)))
  }

  static func problem(_ status: Int, _ code: String, field: String? = nil, headers: [String: String] = [:]) -> Self {
    let named = field.map { #","field":"\#($0)""# } ?? ""
    return .json(
      #"{"type":"about:blank","title":"T","status":\#(status),"code":"\#(code)","detail":"why"\#(named)}"#,
      status: status, headers: headers.merging(["content-type": "application/problem+json"]) { own, _ in own })
  }

  static func status(_ status: Int, headers: [String: String] = [:]) -> Self {
    .response(TransportResponse(status: status, headers: headers))
  }
}

/// A clock whose sleeps end at once; it notes their lengths.
final class NotingClock: Clock {
  typealias Instant = ContinuousClock.Instant

  private let state = Mutex((now: ContinuousClock.now, sleeps: [Duration]()))

  var now: Instant { state.withLock(\.now) }
  var minimumResolution: Duration { .zero }
  var sleeps: [Duration] { state.withLock(\.sleeps) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    state.withLock { state in
      state.sleeps.append(deadline - state.now)
      state.now = max(state.now, deadline)
    }
  }
}

/// A client over a script.
struct Scene {
  let transport: ScriptedTransport
  let clock = NotingClock()
  let client: FanmillClient

  init(_ steps: [ScriptedTransport.Step], session: Session? = Session(token: "t0ken"), retries: RetryPolicy = .standard)
  {
    transport = ScriptedTransport(steps)
    client = FanmillClient(
      url: Self.url, session: session, transport: transport, retries: retries, clock: clock)
  }

  static let url = URL(string: "https://api.example.org/app/") ?? URL(filePath: "/")
}

/// Values that are noted from any thread.
final class Noted<Value: Sendable>: Sendable {
  private let state = Mutex<[Value]>([])
  var values: [Value] { state.withLock(\.self) }
  func note(_ value: Value) { state.withLock { $0.append(value) } }
}

let postJSON = """
  {"id":7,"author":{"id":1,"username":"ann","name":"Ann","major":"","avatar":null},"title":"Hi","description":"",\
  "media":[],"image":null,"createdAt":"2026-11-27T10:00:00.125Z","editedAt":null,"likes":0,"comments":0,\
  "isLiked":false,"isMine":true}
  """

func post(_ id: Int) -> String { postJSON.replacing("\"id\":7", with: "\"id\":\(id)") }
