#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `block`, `mute` and the lists of both.
struct BlockRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool

  func add(to group: RouterGroup<APIContext>) {
    group.on(.block, use: block)
    group.on(.unblock, use: unblock)
    group.on(.mute, use: mute)
    group.on(.unmute, use: unmute)
    group.on(.listBlocks) { try await list(.blocked, $0, $1) }
    group.on(.listMutes) { try await list(.muted, $0, $1) }
  }

  @Sendable private func block(_ request: Request, _ context: APIContext) async throws -> Answer {
    let (viewer, other) = try await both(context)
    try await jobs.transaction { try await Blocks.block(other, by: viewer, in: $0) }
    return .noContent
  }

  @Sendable private func unblock(_ request: Request, _ context: APIContext) async throws -> Answer {
    let (viewer, other) = try await both(context)
    try await jobs.transaction { try await Blocks.unblock(other, by: viewer, in: $0) }
    return .noContent
  }

  @Sendable private func mute(_ request: Request, _ context: APIContext) async throws -> Answer {
    let (viewer, other) = try await both(context)
    try await jobs.transaction { try await Blocks.mute(other, by: viewer, in: $0.sql) }
    return .noContent
  }

  @Sendable private func unmute(_ request: Request, _ context: APIContext) async throws -> Answer {
    let (viewer, other) = try await both(context)
    try await jobs.transaction { try await Blocks.unmute(other, by: viewer, in: $0.sql) }
    return .noContent
  }

  private func both(_ context: APIContext) async throws -> (viewer: Int, other: Int) {
    let viewer = try context.viewer
    return (viewer.id, try await Blocks.id(of: try context.parameter("name"), for: viewer.id, in: pool))
  }

  private struct RestrictedView: Encodable {
    let id: Int
    let username: String
    let name: String
    let major: String
    let avatar: Nullable<String>
    let since: Date

    init(_ restricted: RestrictedAccount) {
      id = restricted.account.id
      username = restricted.account.username
      name = restricted.account.name
      major = restricted.account.major
      avatar = Nullable(restricted.account.avatar)
      since = restricted.since
    }
  }

  private func list(_ kind: Blocks.Kind, _ request: Request, _ context: APIContext) async throws -> Answer {
    let viewer = try context.viewer
    let page = try await Blocks.list(kind, by: viewer.id, try request.page(), in: pool)
    return try Answer(.ok, PageView(page, RestrictedView.init))
  }
}
