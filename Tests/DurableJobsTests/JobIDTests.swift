import DurableJobs
import Foundation
import Testing

@Suite struct JobIDTests {
  @Test func idsOfOneTaskGrow() {
    var last = JobID.next()
    for _ in 0..<20_000 {
      let next = JobID.next()
      #expect(last < next)
      last = next
    }
  }

  @Test func idsGrowAndDifferAcrossTasks() async {
    let all = await withTaskGroup(of: [JobID].self) { group in
      for _ in 0..<8 {
        group.addTask { (0..<5000).map { _ in JobID.next() } }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    for ids in all { #expect(ids == ids.sorted()) }
    #expect(Set(all.joined()).count == 40_000)
  }

  @Test func anIDIsAVersion7UUIDOfItsTime() {
    let before = Int64(Date().timeIntervalSince1970 * 1000)
    let id = JobID.next()
    #expect(id.high >> 12 & 0xF == 7)
    #expect(id.low >> 62 == 0b10)
    // Other tests draw ids too, which may run ahead of the clock.
    #expect((before - 1...before + 60_000).contains(id.milliseconds))
    #expect(JobID.min(atMilliseconds: id.milliseconds) <= id)
    #expect(id < JobID.min(atMilliseconds: id.milliseconds + 1))
    #expect(JobID.min(atMilliseconds: -5).milliseconds == 0)
  }

  @Test func everyFormComesBack() throws {
    for id in [JobID.next(), JobID(high: 0, low: 0), JobID(high: .max, low: .max)] {
      let text = "\(id)"
      #expect(UUID(uuidString: text) != nil)
      #expect(JobID(text) == id)
      #expect(JobID(text.uppercased()) == id)
      #expect(JobID(text.replacing("-", with: "")) == id)
      #expect(JobID(bytes: id.bytes) == id)
      #expect(try JSONDecoder().decode(JobID.self, from: JSONEncoder().encode(id)) == id)
    }
  }

  @Test(arguments: [
    "", "x", "0192f0c1-2b3c-7d4e-8f5a-6b7c8d9e0f1", "0192f0c1-2b3c-7d4e-8f5a-6b7c8d9e0f1g",
    "+192f0c12b3c7d4e8f5a6b7c8d9e0f12", "0192f0c12b3c7d4e+f5a6b7c8d9e0f12", "0192f0c1-2b3c-7d4e-8f5a-6b7c8d9e0f122",
  ])
  func otherTextIsNoID(_ text: String) throws {
    #expect(JobID(text) == nil)
    let json = try JSONEncoder().encode(text)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JobID.self, from: json) }
  }

  @Test func otherCountsOfBytesAreNoID() {
    #expect(JobID(bytes: []) == nil)
    #expect(JobID(bytes: [UInt8](repeating: 0, count: 15)) == nil)
    #expect(JobID(bytes: [UInt8](repeating: 0, count: 17)) == nil)
  }
}
