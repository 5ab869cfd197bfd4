import Foundation

/// The chunks of a body, in order. It can be iterated once.
public struct ByteStream: AsyncSequence, Sendable {
  public typealias Element = Data

  private let makeNext: @Sendable () -> () async throws -> Data?

  public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == Data {
    makeNext = {
      var iterator = chunks.makeAsyncIterator()
      return { try await iterator.next() }
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(produce: makeNext()) }

  public struct AsyncIterator: AsyncIteratorProtocol {
    let produce: () async throws -> Data?

    public mutating func next() async throws -> Data? { try await produce() }
  }
}
