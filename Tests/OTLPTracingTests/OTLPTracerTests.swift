import DurableJobs
import DurableJobsTesting
import Foundation
import Instrumentation
import Locking
import Logging
import ServiceLifecycle
import TestSupport
import Testing
import Tracing

@testable import OTLPTracing

@Suite(.timeLimit(.minutes(2))) struct OTLPTracerTests {
  /// A collector that keeps what it gets.
  private final class Collector: SpanExporter {
    private let requests = Locked<[[UInt8]]>([])
    private let refusals: Locked<Int>

    /// - Parameter refusals: how many requests it refuses first.
    init(refusals: Int = 0) { self.refusals = Locked(refusals) }

    struct Refused: Error {}

    func export(_ body: [UInt8]) async throws {
      let isRefused = refusals.withLock { refusals in
        refusals -= 1
        return refusals >= 0
      }
      if isRefused { throw Refused() }
      requests.withLock { $0.append(body) }
    }

    var count: Int { requests.withLock { $0.count } }

    func spans() throws -> [Span] {
      try requests.withLock { $0 }.flatMap { body in
        let request = try JSONDecoder().decode(Request.self, from: Data(body))
        return request.resourceSpans.flatMap { $0.scopeSpans.flatMap(\.spans) }
      }
    }
  }

  private struct Request: Decodable {
    struct Resource: Decodable { var scopeSpans: [Scope] }
    struct Scope: Decodable { var spans: [Span] }
    var resourceSpans: [Resource]
  }

  private struct Span: Decodable {
    struct Attribute: Decodable {
      var key: String
      var value: [String: Value]
    }
    struct Event: Decodable {
      var name: String
      var attributes: [Attribute]
    }
    struct Link: Decodable { var traceId: String }
    struct Status: Decodable { var code: Int }
    var traceId: String
    var spanId: String
    var parentSpanId: String?
    var name: String
    var kind: Int
    var startTimeUnixNano: String
    var endTimeUnixNano: String
    var attributes: [Attribute]
    var events: [Event]?
    var links: [Link]?
    var status: Status?

    subscript(key: String) -> String? { attributes.first { $0.key == key }?.value.values.first?.text }
  }

  private enum Value: Decodable {
    case text(String)
    case flag(Bool)
    case number(Double)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let flag = try? container.decode(Bool.self) {
        self = .flag(flag)
      } else {
        self = .number(try container.decode(Double.self))
      }
    }

    var text: String {
      switch self {
      case .text(let text): text
      case .flag(let flag): "\(flag)"
      case .number(let number): "\(number)"
      }
    }
  }

  private static func tracer(_ collector: Collector, ratio: Double = 1) -> OTLPTracer {
    var configuration = OTLPTracer.Configuration(service: "shop", version: "1.2")
    configuration.ratio = ratio
    configuration.interval = .milliseconds(5)
    return OTLPTracer(configuration, exporter: collector, logger: Logger(label: "t") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Runs the tracer beside `body`, and stops it in order.
  private static func run(_ tracer: OTLPTracer, _ body: @Sendable () async throws -> Void) async throws {
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [tracer], logger: Logger(label: "t") { _ in SwiftLogNoOpLogHandler() }))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      try await body()
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
    }
  }

  private struct Broken: Error {}

  @Test func spansNestAndAreSentWithWhatTheyHold() async throws {
    let collector = Collector()
    let tracer = Self.tracer(collector)
    try await Self.run(tracer) {
      tracer.withSpan("outer", ofKind: .server) { outer in
        outer.attributes["text"] = "a \"quote\"\n\u{1}한글"
        outer.attributes["number"] = 42
        outer.attributes["flag"] = true
        outer.attributes["part"] = 0.5
        #expect(throws: Broken.self) {
          try tracer.withSpan("inner", ofKind: .client) { _ in throw Broken() }
        }
      }
      try await eventually("they are sent") { try collector.spans().count == 2 }
    }
    let spans = try collector.spans()
    let outer = try #require(spans.first { $0.name == "outer" })
    let inner = try #require(spans.first { $0.name == "inner" })
    #expect(outer.parentSpanId == nil && inner.parentSpanId == outer.spanId && inner.traceId == outer.traceId)
    #expect(outer.traceId.count == 32 && outer.spanId.count == 16 && outer.spanId != inner.spanId)
    #expect((outer.kind, inner.kind) == (2, 3))
    #expect(outer["text"] == "a \"quote\"\n\u{1}한글" && outer["number"] == "42" && outer["flag"] == "true")
    #expect(outer["part"] == "0.5" && outer.status == nil)
    #expect(inner.events?.first?.name == "exception" && inner.events?.first?.attributes.count == 2)
    let times = try [outer, inner].map { span in
      (try #require(UInt64(span.startTimeUnixNano)), try #require(UInt64(span.endTimeUnixNano)))
    }
    #expect(times.allSatisfy { $0.0 <= $0.1 } && times[0].0 <= times[1].0 && times[1].1 <= times[0].1)
  }

  @Test func aStrangersDecisionToSampleHolds() async throws {
    let collector = Collector()
    let tracer = Self.tracer(collector, ratio: 0)
    try await Self.run(tracer) {
      for isSampled in [true, false] {
        var context = InstrumentationContext.topLevel
        let caller = TraceContext(id: .random(), span: 7, isSampled: isSampled)
        context.traceContext = caller
        let span = tracer.startSpan("handed on", context: context, ofKind: .server)
        #expect(span.context.traceContext?.id == caller.id && span.context.traceContext?.span != 7)
        #expect(span.context.traceContext?.isSampled == isSampled && span.isRecording == isSampled)
        span.end()
      }
      // A trace that begins here goes by the ratio.
      let own = tracer.startSpan("own", context: .topLevel, ofKind: .server)
      #expect(own.context.traceContext?.isSampled == false)
      own.end()
      try await eventually("one is sent") { try collector.spans().count == 1 }
    }
    #expect(try collector.spans().map(\.parentSpanId) == ["0000000000000007"])
  }

  @Test func theContextTravelsInHeaders() {
    struct Headers: Injector, Extractor {
      func inject(_ value: String, forKey key: String, into headers: inout [String: String]) { headers[key] = value }
      func extract(key: String, from headers: [String: String]) -> String? { headers[key] }
    }
    let tracer = Self.tracer(Collector())
    var (context, read) = (InstrumentationContext.topLevel, InstrumentationContext.topLevel)
    context.traceContext = TraceContext(id: .random(), span: 9, isSampled: false)
    var headers: [String: String] = [:]
    tracer.inject(context, into: &headers, using: Headers())
    tracer.extract(headers, into: &read, using: Headers())
    #expect(read.traceContext == context.traceContext && headers.count == 1)
  }

  @Test func spansThatEndBeforeTheStopAreSentWithIt() async throws {
    let collector = Collector()
    let tracer = Self.tracer(collector)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [tracer], logger: Logger(label: "t") { _ in SwiftLogNoOpLogHandler() }))
    for _ in 0..<1200 { tracer.startSpan("s", context: .topLevel, ofKind: .internal).end() }
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
    }
    #expect(try collector.spans().count == 1200 && collector.count >= 3)
  }

  /// A collector that is away costs memory up to a bound, and no request waits for it.
  @Test func spansBeyondTheRoomAreDropped() async throws {
    let collector = Collector()
    let tracer = Self.tracer(collector)
    for _ in 0..<OTLPTracer.capacity + 500 { tracer.startSpan("s", context: .topLevel, ofKind: .internal).end() }
    let span = tracer.startSpan("late", context: .topLevel, ofKind: .internal)
    #expect(!span.isRecording && span.context.traceContext?.isSampled == true)
    try await Self.run(tracer) {
      try await eventually("those with room are sent") { try collector.spans().count == OTLPTracer.capacity }
    }
    #expect(tracer.startSpan("next", context: .topLevel, ofKind: .internal).isRecording)
  }

  @Test func aRefusedBatchIsDroppedAndTheNextOneSent() async throws {
    let collector = Collector(refusals: 1)
    let tracer = Self.tracer(collector)
    try await Self.run(tracer) {
      var number = 0
      try await eventually("one comes through") {
        number += 1
        tracer.startSpan("s\(number)", context: .topLevel, ofKind: .internal).end()
        return collector.count > 0
      }
    }
    #expect(try collector.spans().first?.name != "s1")
  }

  @Test func endpointsAreReadFromURLs() throws {
    let plain = try #require(OTLPEndpoint(url: "http://collector:4318"))
    #expect(plain.authority == "collector:4318" && plain.path == "/v1/traces" && plain.authorization == nil)
    let whole = try #require(OTLPEndpoint(url: "https://u:p%40@host/otlp/v1/traces?k=v"))
    #expect(whole.path == "/otlp/v1/traces?k=v" && whole.authority == "host")
    #expect(whole.authorization == "Basic " + Data("u:p@".utf8).base64EncodedString())
    for url in ["", "collector:4318", "ftp://x", "http://"] { #expect(OTLPEndpoint(url: url) == nil) }
  }
}
