import Foundation
import HTTPTypes
import Locking

/// Draws the plan's pictures and uploads them: avatars, and what posts show.
struct ExhibitionPictures: Sendable {
  let plan: ExhibitionPlan
  let cast: ExhibitionCast
  let api: ExhibitionAPI

  private struct Picture: Sendable {
    let owner: Int
    /// nil for an avatar.
    let place: (post: Int, number: Int)?
    let print: Print

    var side: Int { place == nil ? 320 : 864 }
    var key: String { place.map { "demo-picture-\($0.post)-\($0.number)" } ?? "demo-avatar" }
  }

  private struct Uploaded: Decodable { let id: String }

  private struct Avatar: Encodable { let avatar: String }

  var count: Int { pictures.count }

  private var pictures: [Picture] {
    let avatars = plan.students.indices.compactMap { student in
      plan.students[student].avatar.map { Picture(owner: student, place: nil, print: $0) }
    }
    let shown = plan.posts.enumerated().flatMap { post, planned in
      planned.prints.enumerated().map { Picture(owner: planned.author, place: (post, $0.offset), print: $0.element) }
    }
    return avatars + shown
  }

  /// - Parameter progress: receives the number of pictures uploaded so far.
  /// - Returns: the ids of each post's pictures, in order.
  func upload(progress: @escaping @Sendable (Int) -> Void) async throws -> [[String]] {
    let ids = Locked((done: 0, posts: plan.posts.map { [String](repeating: "", count: $0.prints.count) }))
    // Drawing takes a core, and the workers that make the sizes need one too.
    try await pictures.concurrently(atOnce: 3) { picture in
      let caller = cast.callers[picture.owner]
      let answer = try await api.send(
        .post, "media", as: caller, key: picture.key, body: picture.print.png(side: picture.side), type: "image/png",
        expecting: 201)
      let id = try answer.decode(Uploaded.self).id
      if picture.place == nil {
        try await api.send(.patch, "me", as: caller, json: Avatar(avatar: id), expecting: 200)
      }
      let done = ids.withLock { ids in
        if let place = picture.place { ids.posts[place.post][place.number] = id }
        ids.done += 1
        return ids.done
      }
      progress(done)
    }
    return ids.withLock { $0.posts }
  }
}
