import DurableJobs
import DurableJobsTesting
import Locking
import TestSupport
import Testing

/// The first version, as it was in use.
private struct ResizeSquare: Job {
  static let kind: JobKind = "images.resize"
  var image: Int
  var size: Int
}

struct ResizeImage: Job {
  static let kind: JobKind = "images.resize"
  static let payloadVersion = 2
  var image: Int
  var width: Int
  var height: Int
  /// Came later, and nobody has to say it: no version of its own.
  var format: String?
}

extension ResizeImage {
  /// Version 1 had one `size` for both.
  private struct Square: Job {
    static let kind = ResizeImage.kind
    var image: Int
    var size: Int
  }

  init(payload: [UInt8], version: Int) throws {
    if version < 2 {
      let square = try Square(json: payload)
      self.init(image: square.image, width: square.size, height: square.size)
    } else {
      try self.init(json: payload)
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct PayloadExamples {
  private let stage = Stage()

  @Test func aNewerWorkerReadsOldAndNewPayloads() async throws {
    let sizes = Journal<[Int]>()
    var registry = Stage.Registry()
    registry.register(ResizeImage.self) { job, _ in sizes.note([job.image, job.width, job.height]) }
    try await stage.client.enqueue(ResizeSquare(image: 1, size: 64))
    try await stage.client.enqueue(ResizeImage(image: 2, width: 640, height: 480))
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(Set(sizes.entries) == [[1, 64, 64], [2, 640, 480]])
  }

  @Test func anOlderWorkerParksTheNewPayload() async throws {
    var registry = Stage.Registry()
    registry.register(ResizeSquare.self) { job, _ in Issue.record("it cannot read \(job)") }
    try await stage.client.enqueue(ResizeImage(image: 2, width: 640, height: 480))
    try await stage.work(registry) { _ in
      try await eventually("it is parked") { stage.ledger.parkedCount == 1 }
    }
    #expect(stage.ledger.dead.isEmpty)
  }
}
