import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import LocalStack
import Social
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct MediaRouteTests {
  @Test func aPictureIsMadeAndServedInAllSizes() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let upload = try await api.upload(png(1200, 900), as: ann)
      #expect(upload.status == 201)
      let id = try #require(upload.json["id"] as? String)
      #expect((upload.json["width"] as? Int, upload.json["height"] as? Int) == (1200, 900))
      #expect(upload.json["url"] as? String == "/media/\(id)/feed")
      let sizes = try #require(upload.json["sizes"] as? [String: [String: Any]])
      #expect((sizes["thumb"]?["width"] as? Int, sizes["thumb"]?["height"] as? Int) == (320, 240))
      let waiting = try await api.exchange("GET", "/media/\(id)/feed")
      #expect((waiting.status, waiting.headers["retry-after"]) == (202, "1"))

      try await api.drain(SocialJobs.pictureQueue)
      #expect(try await api.send("GET", "/v1/media/\(id)", as: ann).json["state"] as? String == "ready")
      for size in ["thumb", "feed", "full"] {
        let jpeg = try await api.exchange("GET", "/media/\(id)/\(size)")
        #expect(jpeg.status == 200 && jpeg.body.starts(with: [0xFF, 0xD8, 0xFF]), "\(size)")
        #expect(jpeg.headers["content-type"] == "image/jpeg")
        #expect(jpeg.headers["cache-control"] == "public, max-age=31536000, immutable")
        #expect(jpeg.headers["x-content-type-options"] == "nosniff")
        #expect(jpeg.headers["vary"] == "Accept")
        let webp = try await api.exchange("GET", "/media/\(id)/\(size)", headers: ["Accept": "image/webp,*/*;q=0.8"])
        #expect(webp.body.starts(with: "RIFF".utf8) && webp.headers["content-type"] == "image/webp", "\(size)")
        #expect(webp.headers["etag"] != jpeg.headers["etag"])
      }
      let refused = try await api.exchange("GET", "/media/\(id)/feed", headers: ["Accept": "image/webp;q=0"])
      #expect(refused.headers["content-type"] == "image/jpeg")
      #expect(try await api.exchange("GET", "/media/\(id)/huge").status == 404)
    }
  }

  @Test func aPictureIsServedInPartsAndNotAgain() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let id = try await api.picture(png(40, 30), as: ann)
      try await api.drain(SocialJobs.pictureQueue)
      let path = "/media/\(id)/thumb"
      let whole = try await api.exchange("GET", path)
      let tag = try #require(whole.headers["etag"])
      let count = whole.body.count
      #expect(try await api.exchange("GET", path, headers: ["If-None-Match": tag]).status == 304)
      #expect(try await api.exchange("GET", path, headers: ["If-None-Match": "\"other\", W/\(tag)"]).status == 304)
      let part = try await api.exchange("GET", path, headers: ["Range": "bytes=2-9"])
      #expect(part.status == 206 && part.body == Array(whole.body[2...9]))
      #expect(part.headers["content-range"] == "bytes 2-9/\(count)")
      let rest = try await api.exchange("GET", path, headers: ["Range": "bytes=-5", "If-Range": tag])
      #expect(rest.status == 206 && rest.body == Array(whole.body.suffix(5)))
      let other = try await api.exchange("GET", path, headers: ["Range": "bytes=0-1", "If-Range": "\"other\""])
      #expect(other.status == 200 && other.body == whole.body)
      let beyond = try await api.exchange("GET", path, headers: ["Range": "bytes=\(count)-"])
      #expect((beyond.status, beyond.headers["content-range"]) == (416, "bytes */\(count)"))
      for odd in ["bytes=5-2", "bytes=0-1,3-4", "lines=1-2", "bytes=x-", "bytes=-", "bytes=99999999999999999999-"] {
        let answer = try await api.exchange("GET", path, headers: ["Range": odd])
        #expect(answer.status == (odd.hasPrefix("bytes=9") ? 416 : 200), "\(odd)")
      }
      let head = try await api.exchange("HEAD", path)
      #expect((head.status, head.body.count, head.headers["content-length"]) == (200, 0, String(count)))
    }
  }

  @Test func onlyItsOwnerSeesAndDeletesAnUpload() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let id = try await api.picture(png(8, 8), as: ann)
      for (method, token, status) in [
        ("GET", bob, 404), ("DELETE", bob, 404), ("GET", ann, 200), ("DELETE", ann, 204), ("GET", ann, 404),
      ] {
        #expect(try await api.send(method, "/v1/media/\(id)", as: token).status == status, "\(method)")
      }
      for (method, path) in [("POST", "/v1/media"), ("GET", "/v1/media/\(id)"), ("DELETE", "/v1/media/\(id)")] {
        #expect(try await api.send(method, path).status == 401, "\(method)")
      }
      try await api.drain(SocialJobs.pictureQueue)
      try await api.drain(.default)
      #expect(try await api.store.objects(after: nil).isEmpty)
      #expect(try await MediaAudit.run(api.store, on: api.pool).isExact)
    }
  }

  @Test func theSameBytesAreKeptOnce() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let bytes = png(64, 64)
      let ids = try await withThrowingTaskGroup(of: String.self) { group in
        for token in [ann, bob, ann, bob] { group.addTask { try await api.picture(bytes, as: token) } }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
      #expect(ids.count == 4)
      #expect(try await api.count("SELECT count(*) FROM media_files") == 1)
      try await eventually("the racers' copies are gone") { try await api.store.objects(after: nil).count == 1 }
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'media.sizes'") == 1)
      let first = try #require(ids.first)
      try await api.pool.execute("DELETE FROM media WHERE id <> \(first)")
      #expect(try await api.count("SELECT count(*) FROM media_removals") == 0)
      try await api.pool.execute("DELETE FROM media")
      #expect(try await api.count("SELECT count(*) FROM media_removals") == 1)
      #expect(try await api.count("SELECT count(*) FROM media_files") == 0)
      // The same bytes again become another file, which the pending removal does not affect.
      let again = try await api.picture(bytes, as: ann)
      try await api.drain(SocialJobs.pictureQueue)
      #expect(try await api.exchange("GET", "/media/\(again)/thumb").status == 200)
      #expect(try await MediaAudit.run(api.store, on: api.pool).isExact)
    }
  }

  @Test func whatIsNoPictureIsRefusedAndLeavesNothing() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      var eleven = png(8, 8)
      eleven += [UInt8](repeating: 0, count: 11_000_000 - eleven.count)
      for (name, bytes, status, code) in [
        ("nothing", [], 422, "empty_body"),
        ("text", Array("hello, this is a text".utf8), 415, "unsupported_media"),
        ("SVG", Array("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>".utf8), 415, "unsupported_media"),
        ("cut off", Array(png(8, 8).prefix(20)), 422, "broken_media"),
        ("70,000 × 70,000", png(8, 8, declaring: (70_000, 70_000)), 422, "broken_media"),
        ("11 MB", eleven, 413, "body_too_large"),
      ] as [(String, [UInt8], Int, String)] {
        let reply = try await api.upload(bytes, as: ann)
        #expect((reply.status, reply.code) == (status, code), "\(name): \(reply.json)")
      }
      #expect(try await api.count("SELECT count(*) FROM media") == 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: api.mediaFolder) == [])
    }
  }

  @Test func aBrokenPictureFailsWithAReasonAndNothingOfItStays() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      // The header is complete, the pixels are not.
      let id = try await api.picture(Array(png(600, 600).prefix(2000)), as: ann)
      try await api.drain(SocialJobs.pictureQueue)
      try await api.drain(.default)
      let shown = try await api.send("GET", "/v1/media/\(id)", as: ann)
      #expect(shown.json["state"] as? String == "failed")
      let reason = try #require(shown.json["reason"] as? String)
      #expect(!reason.isEmpty && !reason.contains("/"), "\(reason)")
      let gone = try await api.exchange("GET", "/media/\(id)/feed")
      #expect(gone.status == 410)
      #expect(try await api.store.objects(after: nil).isEmpty)
      #expect(try await api.count("SELECT sum(bytes)::bigint FROM media_quotas") == 0)
      let post = try await api.send("POST", "/v1/posts", as: ann, #"{"title":"x","media":["\#(id)"]}"#)
      #expect((post.status, post.code) == (422, "broken_media"))
    }
  }

  @Test func aMultipartBodyIsOneFile() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let picture = png(30, 20)
      func part(_ bytes: [UInt8], _ name: String) -> [UInt8] {
        Array("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\(name)\"\r\n\r\n".utf8) + bytes
          + Array("\r\n".utf8)
      }
      let end = Array("--b--\r\n".utf8)
      let type = "multipart/form-data; boundary=\"b\""
      // The client's file name is ignored.
      let good = try await api.upload(part(picture, "../../etc/passwd") + end, type: type, as: ann)
      #expect(good.status == 201)
      #expect((good.json["width"] as? Int, good.json["height"] as? Int) == (30, 20))
      let raw = try await api.upload(picture, as: ann)
      #expect(raw.status == 201)
      #expect(try await api.count("SELECT count(*) FROM media_files") == 1)
      for (name, body, type) in [
        ("two files", part(picture, "a") + part(picture, "b") + end, type), ("no end", part(picture, "a"), type),
        ("no file", end, type), ("no boundary", part(picture, "a") + end, "multipart/form-data"),
        ("a long head", Array("--b\r\nX: ".utf8) + [UInt8](repeating: 0x61, count: 9000), type),
      ] {
        let reply = try await api.upload(body, type: type, as: ann)
        #expect((reply.status, reply.code) == (400, "malformed_body"), "\(name): \(reply.json)")
      }
    }
  }

  @Test func aPostShowsItsAuthorsPicturesInTheirOrder() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      var ids: [String] = []
      for side in 1...11 { ids.append(try await api.picture(png(side, 5), as: ann)) }
      let theirs = try await api.picture(png(50, 50), as: bob)
      func post(_ media: [String]) async throws -> API.Reply {
        let list = media.map { #""\#($0)""# }.joined(separator: ",")
        return try await api.send("POST", "/v1/posts", as: ann, #"{"title":"x","media":[\#(list)]}"#)
      }
      for (media, code) in [
        (ids, "invalid_media"), ([theirs], "invalid_media"), ([ids[0], ids[0]], "invalid_media"),
        (["AAAAAAAAAAAAAAAAAAAAAA"], "invalid_media"), (["../../etc/passwd"], "use_media"),
        (["https://example.org/a.png"], "use_media"),
      ] {
        let refused = try await post(media)
        #expect((refused.status, refused.code) == (422, code), "\(media)")
      }
      #expect(try await api.count("SELECT count(*) FROM posts") == 0)
      #expect(try await api.count("SELECT sum(uses)::bigint FROM media") == 0)

      let shown = try await post(Array(ids[0..<10].reversed()))
      #expect(shown.status == 201)
      let media = try #require(shown.json["media"] as? [[String: Any]])
      #expect(media.map { $0["id"] as? String } == ids[0..<10].reversed())
      #expect(media.map { $0["width"] as? Int } == (1...10).reversed())
      #expect(shown.json["image"] as? String == "/media/\(ids[9])/feed")
      let post = try #require(shown.json["id"] as? Int)
      let edited = try await api.send("PATCH", "/v1/posts/\(post)", as: ann, #"{"media":["\#(ids[10])"]}"#)
      #expect((edited.json["media"] as? [[String: Any]])?.count == 1)
      #expect(try await api.count("SELECT sum(uses)::bigint FROM media") == 1)
      let kept = try await api.send("DELETE", "/v1/media/\(ids[10])", as: ann)
      #expect((kept.status, kept.code) == (409, "media_in_use"))
      #expect(try await api.send("GET", "/v1/feed/home", as: bob).items.first?["media"] is [[String: Any]])
      #expect(try await api.send("DELETE", "/v1/posts/\(post)", as: ann).status == 204)
      #expect(try await api.count("SELECT sum(uses)::bigint FROM media") == 0)
      #expect(try await MediaAudit.run(nil, on: api.pool).isExact)
      let image = try await api.send("POST", "/v1/posts", as: ann, #"{"title":"x","image":"https://example.org/a"}"#)
      #expect((image.status, image.code) == (422, "use_media"))
    }
  }

  @Test func anAvatarIsOnesOwnPicture() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let id = try await api.picture(png(9, 9), as: ann)
      let foreign = try await api.send("PATCH", "/v1/me", as: bob, #"{"avatar":"\#(id)"}"#)
      #expect((foreign.status, foreign.code) == (422, "invalid_avatar"))
      let address = try await api.send("PATCH", "/v1/me", as: ann, #"{"avatar":"https://example.org/a.png"}"#)
      #expect((address.status, address.code) == (422, "use_media"))
      let changed = try await api.send("PATCH", "/v1/me", as: ann, #"{"avatar":"\#(id)"}"#)
      #expect(changed.json["avatar"] as? String == "/media/\(id)/thumb")
      #expect(try await api.send("GET", "/v1/users/ann", as: bob).json["avatar"] as? String == "/media/\(id)/thumb")
      #expect(try await api.send("PATCH", "/v1/me", as: ann, #"{"name":"Ann"}"#).json["avatar"] is String)
      #expect(try await api.send("PATCH", "/v1/me", as: ann, #"{"avatar":null}"#).json["avatar"] is NSNull)
      #expect(try await MediaAudit.run(nil, on: api.pool).isExact)
    }
  }

  @Test func anAccountIsOpenedWithAPictureThatATokenBrought() async throws {
    try await API.run { api in
      let issued = try await api.send("POST", "/v1/media/tokens")
      #expect((issued.status, issued.json["expiresIn"] as? Int) == (201, 900))
      let token = try #require(issued.json["token"] as? String)
      let upload = try await api.upload(png(7, 7), headers: ["Upload-Token": token])
      let id = try #require(upload.json["id"] as? String)
      // A repeated request whose answer was lost gets it again; nothing else gets in with its key.
      let (lost, key) = (try await api.send("POST", "/v1/media/tokens"), "an upload")
      let spent = try #require(lost.json["token"] as? String)
      let headers = ["Upload-Token": spent, "Idempotency-Key": key]
      let first = try await api.upload(png(9, 9), headers: headers)
      let repeated = try await api.upload(png(9, 9), headers: headers)
      #expect(first.status == 201 && repeated.status == 201)
      #expect(first.json["id"] as? String == repeated.json["id"] as? String)
      #expect(try await api.upload(png(9, 8), headers: headers).code == "idempotency_key_reused")
      let others = ["Upload-Token": String(repeating: "A", count: 43), "Idempotency-Key": key]
      #expect(try await api.upload(png(9, 9), headers: others).code == "idempotency_key_reused")
      let again = try await api.upload(png(7, 8), headers: ["Upload-Token": token])
      #expect((again.status, again.code) == (401, "upload_expired"))
      let wrong = try await api.upload(png(7, 8), headers: ["Upload-Token": "no token"])
      #expect((wrong.status, wrong.code) == (401, "upload_expired"))
      let registration = API.registration("ann").dropLast() + #","avatar":"\#(id)"}"#
      let opened = try await api.send("POST", "/v1/accounts", String(registration))
      let ann = try #require(opened.json["token"] as? String)
      #expect(try await api.send("GET", "/v1/me", as: ann).json["avatar"] as? String == "/media/\(id)/thumb")
      let second = API.registration("eve").dropLast() + #","avatar":"\#(id)"}"#
      let refused = try await api.send("POST", "/v1/accounts", String(second))
      #expect((refused.status, refused.code) == (422, "invalid_avatar"))
      #expect(try await api.count("SELECT count(*) FROM accounts") == 1)
      let old = try #require(try await api.send("POST", "/v1/media/tokens").json["token"] as? String)
      try await api.pool.execute("UPDATE upload_tokens SET expires_at = now()")
      #expect(try await api.upload(png(7, 8), headers: ["Upload-Token": old]).code == "upload_expired")
      #expect(try await MediaAudit.run(api.store, on: api.pool).isExact)
    }
  }

  @Test func aQuotaHolds() async throws {
    let picture = png(60, 60)
    try await API.run(mediaQuota: picture.count * 3) { api in
      let ann = try await api.open("ann")
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for side in 0..<8 {
          group.addTask { try await api.upload(png(60, 60, shade: UInt8(side)), as: ann).status }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.sorted() == [201, 201, 201, 409, 409, 409, 409, 409])
      #expect(try await api.count("SELECT bytes FROM media_quotas") == picture.count * 3)
      try await eventually("what was refused is gone") { try await api.store.objects(after: nil).count == 3 }
    }
  }

  @Test func whatNobodyShowsGoesAfterADay() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let shown = try await api.picture(png(11, 11), as: ann)
      let unused = try await api.picture(png(12, 12), as: ann)
      let young = try await api.picture(png(13, 13), as: ann)
      try await api.drain(SocialJobs.pictureQueue)
      _ = try await api.send("PATCH", "/v1/me", as: ann, #"{"avatar":"\#(shown)"}"#)
      try await api.pool.execute(
        "UPDATE media SET unused_since = now() - interval '25 hours' WHERE id = \(unused) AND uses = 0")
      try await api.jobs.transaction { try await $0.enqueue(MediaSweep()) }
      try await api.drain(.default)
      #expect(try await api.exchange("GET", "/media/\(unused)/thumb").status == 404)
      #expect(try await api.exchange("GET", "/media/\(shown)/thumb").status == 200)
      #expect(try await api.exchange("GET", "/media/\(young)/thumb").status == 200)
      #expect(try await api.store.objects(after: nil).count == 14)
      #expect(try await MediaAudit.run(api.store, on: api.pool).isExact)
    }
  }
}

extension API {
  fileprivate var jobs: JobClient<RedisBroker, PostgresLedger> {
    JobClient(broker: broker, ledger: PostgresLedger(pool: pool), logger: logger)
  }

  /// Uploads and returns the picture's id.
  func picture(_ bytes: [UInt8], as token: String) async throws -> String {
    let reply = try await upload(bytes, as: token)
    try #require(reply.status == 201, "\(reply.status) \(reply.json)")
    return try #require(reply.json["id"] as? String)
  }
}

/// A PNG of one shade of grey.
///
/// - Parameter declared: a false size for its header.
private func png(_ width: Int, _ height: Int, shade: UInt8 = 128, declaring declared: (Int, Int)? = nil) -> [UInt8] {
  var bytes = StoredPNG(width: width, height: height) { _, _ in [shade, shade, shade] }.bytes
  if let declared {
    for (offset, side) in [(16, declared.0), (20, declared.1)] {
      for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: side >> (24 - 8 * index)) }
    }
  }
  return bytes
}
