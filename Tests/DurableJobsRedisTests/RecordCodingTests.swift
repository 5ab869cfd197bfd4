import DurableJobs
import DurableJobsTesting
import Foundation
import TestSupport
import Testing

@testable import DurableJobsRedis

@Suite struct RecordCodingTests {
  private func decode(_ bytes: [UInt8]) throws -> JobRecord {
    try bytes.withUnsafeBytes { try RecordCoding.decode($0, queue: .default) }
  }

  private func random(using generator: inout SeededGenerator) -> JobRecord {
    let isDurable = Bool.random(using: &generator)
    let count = Int.random(in: 0...3, using: &generator)
    let id = TraceID(high: .random(in: 0...UInt64.max, using: &generator), low: .random(in: 1...99, using: &generator))
    let trace =
      Bool.random(using: &generator)
      ? id.map { TraceContext(id: $0, span: .random(in: 1...UInt64.max, using: &generator)) } : nil
    return JobRecord(
      kind: JobKind(
        rawValue: String(repeating: ["k", "ß", "日"][count % 3], count: Int.random(in: 1...80, using: &generator))),
      queue: .default, priority: JobPriority.allCases.randomElement(using: &generator) ?? .low,
      version: Int.random(in: 0...65535, using: &generator),
      payload: (0..<Int.random(in: 0...300, using: &generator)).map { _ in .random(in: 0...255, using: &generator) },
      isDurable: isDurable, attempts: Int.random(in: 0...65535, using: &generator),
      failures: (0..<count).map {
        JobFailure(attempt: $0, at: Date(unixMilliseconds: 17), error: "\"no\"\n\($0)", worker: "w")
      },
      trace: trace)
  }

  @Test func everyRecordComesBack() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let record = random(using: &generator)
      #expect(try decode(RecordCoding.encode(record)) == record, "seed \(seed)")
    }
  }

  @Test func bytesThatAreCutOffAreRefused() throws {
    var record = JobRecord.test("", kind: "kind", isDurable: false)
    record.failures = [JobFailure(attempt: 1, at: .init(unixMilliseconds: 17), error: "no", worker: "w")]
    let bytes = try RecordCoding.encode(record)
    for count in 0..<bytes.count {
      let error = #expect(throws: BrokerError.self) { try decode(Array(bytes.prefix(count))) }
      #expect(error?.code == .unexpectedReply)
    }
    #expect(try decode(bytes) == record)
  }

  @Test func anyOtherBytesAreRefusedOrReadButNeverCrash() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      var bytes = try RecordCoding.encode(random(using: &generator))
      for _ in 0..<3 {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
      }
      do { _ = try decode(bytes) } catch is BrokerError {}
    }
  }

  @Test func theScriptsFindTheHeadWhereTheyLook() throws {
    var record = JobRecord.test("{}", priority: .low, isDurable: true)
    record.attempts = 0x0102
    let bytes = try RecordCoding.encode(record)
    #expect(Array(bytes.prefix(4)) == [1, UInt8(ascii: "2"), 1, 2])
    #expect(Array(bytes[4..<20]) == record.id.bytes)
    record.attempts = 1_000_000
    #expect(try Array(RecordCoding.encode(record)[2..<4]) == [0xFF, 0xFF])
  }

  /// A failure as a worker of a version without traces decodes it.
  private struct PlainFailure: Codable, Equatable {
    var attempt: Int
    var at: Int64
    var error: String
    var worker: String
  }

  @Test func aMarkHoldsTheTraceAndTheLimits() throws {
    let traces: [TraceContext?] = [nil, .begin(), TraceContext(id: .random(), span: 7, isSampled: false)]
    for trace in traces {
      for (attempts, timeout) in [(nil, nil), (3, nil), (nil, .milliseconds(1500)), (65_535, .days(400))]
        as [(Int?, Duration?)]
      {
        for failures in [0, 2] {
          var record = JobRecord.test("{}", kind: "kind", isDurable: false)
          (record.trace, record.maxAttempts, record.timeout) = (trace, attempts, timeout)
          record.failures = (0..<failures).map {
            JobFailure(attempt: $0, at: .init(unixMilliseconds: 17), error: "no", worker: "w")
          }
          #expect(try decode(try RecordCoding.encode(record)) == record)
        }
      }
    }
  }

  /// It wrote the trace's id alone.
  @Test func theLastVersionsTraceIsRead() throws {
    let trace = TraceID.random()
    var record = JobRecord.test("{}", kind: "kind", isDurable: false)
    let plain = try RecordCoding.encode(record)
    let mark = Array(#"[{"attempt":0,"at":0,"error":"","worker":"","trace":"\#(trace)"}]"#.utf8)
    let count = (0..<4).map { UInt8(truncatingIfNeeded: mark.count >> (24 - 8 * $0)) }
    record.trace = TraceContext(id: trace, span: trace.low)
    #expect(try decode(Array(plain[..<27]) + count + mark + record.payload) == record)
  }

  @Test func aWorkerThatKnowsNoTracesReadsAFailureThatSaysNothing() throws {
    var record = JobRecord.test("{}", kind: "kind", isDurable: false)
    record.trace = .begin()
    record.failures = [JobFailure(attempt: 1, at: .init(unixMilliseconds: 17), error: "no", worker: "w")]
    let bytes = try RecordCoding.encode(record)
    let length = bytes[27..<31].reduce(0) { $0 << 8 | Int($1) }
    let history = Array(bytes[31..<31 + length])
    let read = try JSONDecoder().decode([PlainFailure].self, from: Data(history))
    let failures = [
      PlainFailure(attempt: 0, at: 0, error: "", worker: ""),
      PlainFailure(attempt: 1, at: 17, error: "no", worker: "w"),
    ]
    #expect(read == failures)
    #expect(Array(bytes[(31 + length)...]) == record.payload)

    // Its output has lost the trace and nothing else.
    let written = try JSONEncoder().encode(failures)
    let count = (0..<4).map { UInt8(truncatingIfNeeded: written.count >> (24 - 8 * $0)) }
    var expected = record
    expected.trace = nil
    #expect(try decode(Array(bytes[..<27]) + count + Array(written) + record.payload) == expected)
  }

  @Test(arguments: [false, true])
  func aLargePayloadIsMarkedAsStillInTheLedger(isTraced: Bool) throws {
    var record = JobRecord.test(String(repeating: "x", count: 1 << 20), kind: "kind", version: 7, isDurable: true)
    record.trace = isTraced ? .begin() : nil
    record.attempts = 3
    let bytes = try RecordCoding.encode(record)
    #expect(bytes.count < 200)
    let decoded = try decode(bytes)
    #expect(decoded.payload.isEmpty && decoded.payloadInLedger == 1 << 20 && decoded.version == 7)
    #expect(decoded.trace == record.trace && decoded.attempts == 3 && decoded.id == record.id)
    // With or without the payload that was read for it.
    #expect(try RecordCoding.encode(decoded) == bytes)
    var filled = decoded
    filled.payload = record.payload
    #expect(try RecordCoding.encode(filled) == bytes)

    var small = record
    small.payload = Array(record.payload.prefix(PayloadLimit.carried))
    #expect(try decode(RecordCoding.encode(small)) == small)
    var unrecorded = record
    (unrecorded.isDurable, unrecorded.payload) = (false, Array(record.payload.prefix(PayloadLimit.unrecorded)))
    #expect(try decode(RecordCoding.encode(unrecorded)) == unrecorded)
  }

  @Test func aWorkerThatKnowsNoMarksFindsAVersionThatItCannotRun() throws {
    let record = JobRecord.test(String(repeating: "x", count: 100_000), kind: "kind", version: 1, isDurable: true)
    let bytes = try RecordCoding.encode(record)
    // Such a worker reads a version above any that a kind can have, so it parks the job by its id.
    #expect(bytes[0] == 1 && Array(bytes[4..<20]) == record.id.bytes)
    #expect(bytes[20..<22].elementsEqual([0xFF, 0xFF]))
    #expect(String(decoding: bytes[23..<27], as: UTF8.self) == "kind")
    var impossible = record
    impossible.version = 65535
    #expect(throws: InvalidJob.self) { try impossible.check() }
    // Its output, with the rest as the payload of that version, decodes to the same.
    var written = JobRecord.test("", kind: "kind", version: 65535, isDurable: true)
    (written.id, written.payload) = (record.id, Array(bytes[31...]))
    #expect(try RecordCoding.encode(written) == bytes)
  }

  @Test func aJobWithoutATraceIsAsItWas() throws {
    let bytes = try RecordCoding.encode(JobRecord.test("{}", kind: "kind", isDurable: true))
    #expect(bytes.count == 27 + 4 + 2)
    #expect(Array(bytes[27..<31]) == [0, 0, 0, 0])
  }

  @Test func aKindThatIsTooLongIsRefused() {
    let record = JobRecord.test(kind: JobKind(rawValue: String(repeating: "k", count: 256)))
    #expect(throws: BrokerError.self) { try RecordCoding.encode(record) }
  }
}
