/// The first commands on a new connection, and the meaning of their replies.
struct RedisHandshake {
  private enum Step { case authenticate, select, name, ping, role }
  private let steps: [(step: Step, command: RedisCommand)]
  private let configuration: RedisConfiguration

  init(_ configuration: RedisConfiguration) {
    self.configuration = configuration
    var steps: [(Step, RedisCommand)] = []
    if let password = configuration.password {
      if let user = configuration.user {
        steps.append((.authenticate, RedisCommand("AUTH", user, password)))
      } else {
        steps.append((.authenticate, RedisCommand("AUTH", password)))
      }
    }
    if configuration.database != 0 { steps.append((.select, RedisCommand("SELECT", configuration.database))) }
    steps.append((.name, RedisCommand("CLIENT", "SETNAME", configuration.clientName)))
    // A server that is loading its data refuses PING, so its connection is not ready yet.
    steps.append((.ping, RedisCommand("PING")))
    if configuration.expectsMaster { steps.append((.role, RedisCommand("ROLE"))) }
    self.steps = steps
  }

  var commands: [RedisCommand] { steps.map(\.command) }

  func check(_ results: [Result<RedisValue, RedisError>]) throws(RedisError) {
    for ((step, _), result) in zip(steps, results) {
      let place = configuration.displayName
      guard case .failure(let error) = result else {
        if step == .role, case .success(let reply) = result { try checkRole(reply, place) }
        continue
      }
      switch (step, error.serverPrefix) {
      case (_, "NOAUTH"):
        throw RedisError(
          .configuration, "\(place) requires a password; write redis://:password@host", serverPrefix: "NOAUTH")
      case (.authenticate, let prefix):
        let advice = "check user and password in the URL"
        throw RedisError(
          .configuration, "\(place) rejects the login (\(error.message)); \(advice)", serverPrefix: prefix)
      case (.select, let prefix):
        throw RedisError(
          .configuration, "\(place) has no database \(configuration.database) (\(error.message))", serverPrefix: prefix)
      case (.ping, "LOADING"), (.ping, "MASTERDOWN"):
        throw RedisError(.connection, error.message, serverPrefix: error.serverPrefix)
      case (.role, _):
        throw RedisError(
          .configuration, "\(place) does not report its role (\(error.message)); allow the user to run ROLE",
          serverPrefix: error.serverPrefix)
      default:
        // A server without client names, or a user who may not set one, can still run commands.
        continue
      }
    }
  }

  /// A sentinel may be out of date, and a demoted server would refuse writes.
  private func checkRole(_ reply: RedisValue, _ place: String) throws(RedisError) {
    guard let role = reply.elements?.first?.text, role != "master" else { return }
    throw RedisError(.connection, "\(place) was named as the master but reports that it is a \(role)")
  }
}
