import LibPQClient

/// One search of a statement.
struct SearchRound: Sendable {
  /// Who searches. All searches of a statement have the same kind.
  enum Searcher: Sendable {
    case account(Int)
    /// The statement looks up the account.
    case session(SessionToken)
  }

  let searcher: Searcher
  let query: String
  /// Where the search continues.
  let place: Int
  /// The most rows to find.
  let count: Int

  /// The result of a search.
  struct Found<Item: Sendable>: Sendable {
    /// nil if the session does not exist.
    var viewer: Int?
    var rows: [Page<Item>.Row] = []

    /// - Throws: `not_signed_in`.
    func shown() throws -> [Page<Item>.Row] {
      guard viewer != nil else { throw Sessions.ended }
      return rows
    }
  }

  /// The searches as the table `asked` of a statement: each one's number, from 1, its account and its values. Tokens
  /// without a session are left out.
  ///
  /// Postgres knows the number of values in an `ARRAY[…]`, and keeps one plan per number.
  static func table(_ rounds: [SearchRound]) -> PostgresQuery {
    let values: PostgresQuery = """
      ARRAY[\(PostgresQuery.list(rounds.map(\.query)))], ARRAY[\(PostgresQuery.list(rounds.map(\.place)))], \
      ARRAY[\(PostgresQuery.list(rounds.map(\.count)))]
      """
    var (accounts, hashes): ([Int], [[UInt8]]) = ([], [])
    for round in rounds {
      switch round.searcher {
      case .account(let id): accounts.append(id)
      case .session(let token): hashes.append(token.hash)
      }
    }
    if hashes.isEmpty {
      return """
        asked AS MATERIALIZED (
          SELECT * FROM unnest(ARRAY[\(PostgresQuery.list(accounts))], \(values))
            WITH ORDINALITY AS given (viewer, query, place, most, n))
        """
    }
    return """
      asked AS MATERIALIZED (
        SELECT account_id AS viewer, query, place, most, n FROM unnest(ARRAY[\(PostgresQuery.list(hashes))], \(values))
          WITH ORDINALITY AS given (hash, query, place, most, n)
        JOIN sessions ON token_hash = hash AND expires_at > now())
      """
  }
}
