import Locking
import Reactor

/// Asks sentinels for the master.
///
/// Their answers are not cached: each new connection asks again, and the named server is verified (`ROLE`) before use.
/// A sentinel cut off from the others may be wrong, so the next query goes to another one first.
final class RedisSentinels: Sendable {
  private let configuration: RedisConfiguration
  private let sentinel: RedisConfiguration.Sentinel
  private let loop: EventLoop
  private let next = Locked(0)

  init(_ configuration: RedisConfiguration, _ sentinel: RedisConfiguration.Sentinel, loop: EventLoop) {
    self.configuration = configuration
    self.sentinel = sentinel
    self.loop = loop
  }

  /// The configuration of the master, as named by the first sentinel that responds.
  ///
  /// - Throws: `.connection` if none responds, `.configuration` if no responding sentinel knows the name.
  func master() async throws(RedisError) -> RedisConfiguration {
    let endpoints = configuration.endpoints
    let first = next.withLock { next in
      next += 1
      return next - 1
    }
    var unreachable: RedisError?
    var isUnknown = false
    for offset in 0..<endpoints.count {
      let endpoint = endpoints[(first + offset) % endpoints.count]
      do throws(RedisError) {
        if let master = try await ask(endpoint) {
          var found = configuration.server(at: master)
          found.expectsMaster = true
          return found
        }
        isUnknown = true
      } catch {
        if error.code == .configuration { throw error }
        unreachable = error
      }
      if Task.isCancelled { throw .cancelled }
    }
    if isUnknown {
      throw RedisError(
        .configuration,
        "the sentinels at \(configuration.displayName) know no master \"\(sentinel.master)\"; "
          + "use the name from their 'sentinel monitor' line")
    }
    throw RedisError(
      .connection, "no sentinel of \(configuration.displayName) answers: \(unreachable?.message ?? "none is named")")
  }

  /// - Returns: nil if the sentinel does not know the master.
  private func ask(_ endpoint: RedisConfiguration.Endpoint) async throws(RedisError) -> RedisConfiguration.Endpoint? {
    let command = RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinel.master)
    let reply = try await with(endpoint) { connection throws(RedisError) in try await connection.send(command) }
    if reply.isNull { return nil }
    guard let parts = reply.elements, parts.count == 2, let host = parts[0].text, let port = parts[1].int else {
      throw RedisError(.protocol, "the sentinel at \(endpoint) did not answer with an address")
    }
    return .tcp(host: host, port: port)
  }

  /// Provides a connection to one sentinel.
  private func with<Output>(
    _ endpoint: RedisConfiguration.Endpoint, _ body: (RedisConnection) async throws(RedisError) -> Output
  ) async throws(RedisError) -> Output {
    var place = configuration.server(at: endpoint)
    place.user = sentinel.user
    place.password = sentinel.password
    place.database = 0
    // An unresponsive sentinel must leave time for the others.
    place.connectTimeout = min(configuration.connectTimeout, .seconds(1))
    place.commandTimeout = place.connectTimeout
    let connection: RedisConnection
    do throws(RedisError) {
      connection = try await RedisConnection.connect(place, loop: loop)
    } catch {
      guard error.code == .configuration else { throw error }
      throw RedisError(
        .configuration,
        "\(error.message) (sentinels have a separate login: append it to the URL, as in ?sentinel_password=…)",
        serverPrefix: error.serverPrefix)
    }
    do throws(RedisError) {
      let output = try await body(connection)
      await connection.close()
      return output
    } catch {
      await connection.close()
      throw error
    }
  }

  /// The sentinels' view of the master.
  func standing() async -> RedisTopology.SentinelStanding {
    var standing = RedisTopology.SentinelStanding(named: configuration.endpoints.count, reachable: 0, quorum: nil)
    for endpoint in configuration.endpoints {
      do throws(RedisError) {
        let verdict = try await with(endpoint) { connection throws(RedisError) -> String? in
          do throws(RedisError) {
            return try await connection.send(RedisCommand("SENTINEL", "CKQUORUM", sentinel.master)).text
          } catch {
            guard error.code == .server else { throw error }
            return error.message
          }
        }
        standing.reachable += 1
        if standing.quorum?.hasPrefix("OK") != true { standing.quorum = verdict }
      } catch {
        continue
      }
    }
    return standing
  }
}
