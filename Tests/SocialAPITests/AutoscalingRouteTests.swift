import DurableJobsPostgres
import Foundation
import Testing

@testable import DurableJobsAdmin

@Suite struct AutoscalingRouteTests {
  private func keep(_ api: API, at date: Date) async throws {
    var sample = StackSample(at: date)
    var queue = StackSample.QueueSample(queue: "fanout")
    (queue.ready, queue.workers, queue.wanted) = (70, 2, 5)
    queue.load.note(QueueLoad.Flow(seconds: 5, ended: 50, runSeconds: 10, growth: 0), halfLife: 30)
    sample.queues = [queue]
    try await sample.save(in: JobsDatabase(pool: api.pool))
  }

  @Test func anAutoscalerLearnsWhatAQueueNeeds() async throws {
    try await API.run { api in
      try await keep(api, at: Date())
      let reply = try await api.send("GET", "/v1/autoscaling/fanout", as: adminToken)
      #expect(reply.status == 200)
      #expect(reply.json["queue"] as? String == "fanout" && reply.json["workers"] as? Int == 5)
      #expect(reply.json["serving"] as? Int == 2 && reply.json["ready"] as? Int == 70)
      #expect(abs((reply.json["arrivalRate"] as? Double ?? 0) - 10) < 1e-6)
      #expect(abs((reply.json["runTime"] as? Double ?? 0) - 0.2) < 1e-6)
      let readOnly = try await api.send("GET", "/v1/autoscaling/fanout", as: adminReadToken)
      #expect((readOnly.status, readOnly.json["workers"] as? Int) == (200, 5))
      let unknown = try await api.send("GET", "/v1/autoscaling/nowhere", as: adminToken)
      #expect((unknown.status, unknown.code) == (404, "unknown_queue"))
    }
  }

  @Test func itIsForOperatorsAndNeverOld() async throws {
    try await API.run { api in
      let before = try await api.send("GET", "/v1/autoscaling/fanout", as: adminToken)
      #expect((before.status, before.code) == (503, "not_sampled"))
      try await keep(api, at: Date() - 61)
      let old = try await api.send("GET", "/v1/autoscaling/fanout", as: adminToken)
      #expect((old.status, old.code) == (503, "not_sampled"))
      #expect(old.headers["retry-after"] == "10")
      try await keep(api, at: Date())
      #expect(try await api.send("GET", "/v1/autoscaling/fanout").status == 401)
      let user = try await api.send("GET", "/v1/autoscaling/fanout", as: try await api.open("ann"))
      #expect((user.status, user.code) == (403, "admin_only"))
    }
  }

  @Test func eachAnswerNamesATraceOfItsOwn() async throws {
    try await API.run { api in
      let one = try await api.send("GET", "/v1/nothing").headers["traceparent"]
      let other = try await api.send("GET", "/v1/nothing").headers["traceparent"]
      #expect(one?.count == 55 && other?.count == 55 && one != other)
    }
  }
}
