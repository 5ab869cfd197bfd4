import Foundation
import HTTPTypes
import Locking
import Reactor
import TestSupport
import Testing

@testable import CurlClient

@Suite("Cancelling and closing", .timeLimit(.minutes(2)))
struct CancellationTests {
  /// A server that never answers.
  private func silentServer() throws -> ScriptedServer {
    try ScriptedServer { connection in
      _ = connection.readRequest()
      connection.waitForHangUp()
    }
  }

  @Test func aCancelledRequestIsGoneAtOnce() async throws {
    let server = try silentServer()
    defer { server.stop() }
    try await withClient { client in
      try await withThrowingTaskGroup(of: HTTPClientError?.self) { group in
        group.addTask { await client.failure(get(port: server.port)) }
        try await eventually { server.requests == 1 }
        group.cancelAll()
        #expect(try await group.next()??.code == .cancelled)
      }
      let counts = await client.transfers.counts
      #expect(counts.transfers == 0 && counts.sockets == 0 && counts.idle == 1)
    }
  }

  @Test func cancelledBeforeItIsNotSent() async throws {
    let server = try silentServer()
    defer { server.stop() }
    try await withClient { client in
      await withTaskGroup(of: HTTPClientError?.self) { group in
        group.cancelAll()
        group.addTask { await client.failure(get(port: server.port)) }
        #expect(await group.next()??.code == .cancelled)
      }
      #expect(await client.transfers.counts.transfers == 0)
    }
    #expect(server.requests == 0)
  }

  @Test func closingFailsWhatIsUnderWay() async throws {
    let server = try silentServer()
    defer { server.stop() }
    try await withClient { client in
      try await withThrowingTaskGroup(of: HTTPClientError?.self) { group in
        for _ in 0..<8 { group.addTask { await client.failure(get(port: server.port)) } }
        try await eventually { server.requests == 8 }
        await client.close()
        for try await error in group { #expect(error?.code == .closed) }
      }
      #expect(await client.failure(get(port: server.port))?.code == .closed)
      #expect(await client.transfers.counts == (0, 0, 0))
    }
  }

  /// A client that is dropped without being closed frees its resources.
  @Test func droppingCloses() async throws {
    let hungUp = Locked(0)
    let server = try ScriptedServer { connection in
      _ = connection.readRequest()
      connection.answer("ok")
      connection.waitForHangUp()
      hungUp.withLock { $0 += 1 }
    }
    defer { server.stop() }
    let loop = EventLoop(name: "http-test")
    do {
      let client = try HTTPClient(configuration: HTTPClientConfiguration(), loop: loop, logger: .quiet)
      _ = try await client.send(get(port: server.port))
    }
    try await eventually { hungUp.withLock { $0 } == 1 }
    loop.stop()
  }

  private struct Weak {
    weak var transfer: HTTPTransfer?
  }

  /// Whatever is cancelled at whatever time, each request gets its own response or `.cancelled`, and leaves nothing
  /// behind.
  @Test func storm() async throws {
    let server = try ScriptedServer { connection in
      while let text = connection.readRequest() {
        if !connection.answer(text.components(separatedBy: " ")[1]) { return }
      }
    }
    defer { server.stop() }
    var generator = SeededGenerator("storm")
    let plans = (0..<32).map { _ in (0..<25).map { _ in Int.random(in: -20..<60, using: &generator) } }
    let boxes = Locked<[Weak]>([])
    let cancelled = Locked(0)
    try await withClient {
      $0.connectionsPerHost = 8
    } _: { client in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (task, plan) in plans.enumerated() {
          group.addTask(executorPreference: task % 2 == 0 ? client.transfers.loop.taskExecutor : nil) {
            for (round, yields) in plan.enumerated() {
              let call = try HTTPCall(get("/\(task)/\(round)", port: server.port), body: [], userAgent: "test")
              let transfer = HTTPTransfer(call, client.configuration)
              boxes.withLock { $0.append(Weak(transfer: transfer)) }
              let isCancelled = await perform(transfer, on: client, cancelAfter: yields < 0 ? nil : yields)
              if isCancelled {
                cancelled.withLock { $0 += 1 }
              } else {
                #expect(try transfer.response().1 == Array("/\(task)/\(round)".utf8))
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let counts = await client.transfers.counts
      #expect(counts.transfers == 0)
      #expect(counts.idle <= 32)
    }
    #expect(boxes.withLock { $0.count } == 800)
    #expect(boxes.withLock { $0.count { $0.transfer != nil } } == 0)
    #expect(cancelled.withLock { $0 } > 0)
  }

  private func perform(_ transfer: HTTPTransfer, on client: HTTPClient, cancelAfter yields: Int?) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        do throws(HTTPClientError) {
          try await client.transfers.perform(transfer)
          return false
        } catch {
          #expect(error.code == .cancelled && yields != nil, "\(error)")
          return true
        }
      }
      if let yields {
        for _ in 0..<yields { await Task.yield() }
        group.cancelAll()
      }
      return await group.next() ?? false
    }
  }
}
