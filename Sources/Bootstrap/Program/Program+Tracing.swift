import DurableJobs
import Instrumentation
import OTLPTracing

extension Program {
  /// Runs `body` with a program that traces where a collector is set: `serve` then runs its tracer. Call it once in a
  /// process.
  public func withTracing(_ body: (Program) async throws -> Void) async throws {
    guard let url = settings.otlpURL else { return try await body(self) }
    guard let endpoint = OTLPEndpoint(url: url.value) else {
      throw settings.refusal(of: .otlpURL, because: "not a URL that begins with https:// or http://")
    }
    let configuration = OTLPTracer.Configuration(service: name, version: Self.version)
    try await OTLPTracer.with(configuration, sendingTo: endpoint, logger: logger) { tracer in
      InstrumentationSystem.bootstrap(tracer)
      var program = self
      program.tracer = tracer
      try await body(program)
    }
  }

  /// The middleware of the program's clients and workers besides the usual.
  public var jobMiddleware: [any JobMiddleware] { tracer == nil ? [] : [JobTracing()] }
}
