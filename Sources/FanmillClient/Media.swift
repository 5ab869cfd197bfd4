import Foundation

/// A picture of a post.
public struct Picture: Sendable, Hashable, Codable, Identifiable {
  public var id: Upload.ID
  /// The address of the size `feed`, relative to the server.
  public var url: String
  /// In pixels, as uploaded and turned upright.
  public var width: Int
  public var height: Int
  public var sizes: PictureSizes

  public init(id: Upload.ID, url: String, width: Int, height: Int, sizes: PictureSizes) {
    self.id = id
    self.url = url
    self.width = width
    self.height = height
    self.sizes = sizes
  }
}

/// The three sizes of a picture.
public struct PictureSizes: Sendable, Hashable, Codable {
  /// At most 320 pixels on the longer side.
  public var thumb: PictureSize
  /// At most 1080 pixels on the longer side.
  public var feed: PictureSize
  /// At most 2048 pixels on the longer side.
  public var full: PictureSize

  public init(thumb: PictureSize, feed: PictureSize, full: PictureSize) {
    self.thumb = thumb
    self.feed = feed
    self.full = full
  }
}

/// A size of a picture.
public struct PictureSize: Sendable, Hashable, Codable {
  /// The address, relative to the server: ``FanmillClient/Media/url(_:)`` makes it a URL.
  public var url: String
  /// In pixels.
  public var width: Int
  public var height: Int

  public init(url: String, width: Int, height: Int) {
    self.url = url
    self.width = width
    self.height = height
  }
}

/// An uploaded picture, as its owner sees it.
public struct Upload: Sendable, Hashable, Codable, Identifiable {
  /// How far the making of its sizes has come.
  public struct State: OpenValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Its sizes are being made.
    public static let waiting = State(rawValue: "waiting")
    public static let ready = State(rawValue: "ready")
    /// Its bytes are not a picture. ``Upload/reason`` says why.
    public static let failed = State(rawValue: "failed")
  }

  /// Cannot be guessed. Anyone who has it can see the picture.
  public var id: String
  public var state: State
  /// The address of the size `feed`, relative to the server.
  public var url: String
  /// In pixels; 0 for a failed picture.
  public var width: Int
  public var height: Int
  public var sizes: PictureSizes
  /// Why it failed.
  public var reason: String?

  public init(
    id: String, state: State, url: String, width: Int, height: Int, sizes: PictureSizes, reason: String? = nil
  ) {
    self.id = id
    self.state = state
    self.url = url
    self.width = width
    self.height = height
    self.sizes = sizes
    self.reason = reason
  }
}

/// Lets a client without an account upload one picture, for its sign-up.
///
/// Descriptions, mirrors and dumps omit the token.
public struct UploadToken: Sendable, Hashable, Codable, CustomStringConvertible, CustomReflectable {
  public let token: String
  /// The lifetime in seconds, from when it was issued.
  public let expiresIn: Int

  public init(token: String, expiresIn: Int) {
    self.token = token
    self.expiresIn = expiresIn
  }

  public var description: String { "UploadToken(…)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension FanmillClient {
  public var media: Media { Media(sender: sender) }

  /// `media`: uploads, and the pictures made of them.
  public struct Media: Sendable {
    let sender: RequestSender

    /// Long enough for an upload to wait for its turn at a busy server.
    private static let patience = Duration.seconds(120)

    /// Uploads a picture from a file: JPEG, PNG, WebP, GIF or HEIC, up to 10 MB and 40 million pixels. The server reads
    /// the format from the bytes.
    ///
    /// - Parameters:
    ///   - file: a file URL. It is sent as it is read; the whole file is never in memory.
    ///   - token: for a client without an account; each token is for one picture.
    ///   - key: repeats an upload that has thrown; see ``FanmillClient``.
    ///   - progress: is called as bytes are sent, on any thread. A retry starts again at 0.
    /// - Throws: `body_too_large`, `unsupported_media`, `broken_media`, `media_quota`, `upload_expired`,
    ///   `rate_limited`, `unreadable_file`.
    public func upload(
      _ file: URL, with token: UploadToken? = nil, key: UUID = UUID(),
      progress: @escaping @Sendable (UploadProgress) -> Void = { _ in }
    ) async throws -> Upload {
      // Checked here: a transport would report it as a failure of the network, and the call would be retried.
      guard file.isFileURL, FileManager.default.isReadableFile(atPath: file.path) else {
        throw FanmillError(.unreadableFile, "the file cannot be read: \(file.lastPathComponent)")
      }
      let transport = sender.transport
      return try await upload(with: token, key) { try await transport.upload($0, from: file, progress: progress) }
    }

    /// Uploads a picture from memory.
    ///
    /// - Throws: what ``upload(_:with:key:progress:)`` throws.
    public func upload(_ bytes: Data, with token: UploadToken? = nil, key: UUID = UUID()) async throws -> Upload {
      let transport = sender.transport
      return try await upload(with: token, key) { request in
        var request = request
        request.body = bytes
        return try await transport.send(request)
      }
    }

    private func upload(
      with token: UploadToken?, _ key: UUID, _ exchange: @Sendable (TransportRequest) async throws -> TransportResponse
    ) async throws -> Upload {
      let sender = token == nil ? sender : sender.signedOut
      var request = APIRequest(.post, ["media"]).keyed(key)
      request.headers["Content-Type"] = "application/octet-stream"
      request.headers["Upload-Token"] = token?.token
      request.timeout = Self.patience
      return try RequestSender.decode(try await sender.send(request, through: exchange))
    }

    /// Issues a token for one picture before sign-up, valid for 15 minutes.
    ///
    /// - Throws: `rate_limited`.
    public func issueToken() async throws -> UploadToken {
      try await sender.signedOut.value(APIRequest(.post, ["media", "tokens"], repetition: .safe))
    }

    /// One of the account's uploads.
    ///
    /// - Throws: `not_found`.
    public func upload(_ id: Upload.ID) async throws -> Upload {
      try await sender.value(APIRequest(.get, ["media", id]))
    }

    /// Deletes an upload that is shown nowhere.
    ///
    /// - Throws: `media_in_use`, `not_found`.
    public func delete(_ id: Upload.ID) async throws { try await sender.send(APIRequest(.delete, ["media", id])) }

    /// Waits until the sizes of an upload are made, and returns it: `ready` or `failed`.
    ///
    /// - Throws: `not_ready` after `limit`, `not_found`.
    public func finished(_ id: Upload.ID, within limit: Duration = .seconds(60)) async throws -> Upload {
      var (waited, delay) = (Duration.zero, Duration.milliseconds(250))
      while true {
        let upload = try await upload(id)
        guard upload.state == .waiting else { return upload }
        guard waited < limit else { throw FanmillError(.notReady, "the picture's sizes are not made in time") }
        try await sender.clock.sleep(for: delay)
        (waited, delay) = (waited + delay, min(delay * 2, .seconds(2)))
      }
    }

    // MARK: Pictures

    /// The URL of an address that is relative to the server, such as that of a size or an avatar. It needs no session.
    public func url(_ address: String) -> URL? {
      RequestTarget.resolved(address, on: sender.url, from: sender.url)
    }

    /// Fetches a picture: a JPEG, or a WebP if `acceptsWebP`.
    ///
    /// - Parameters:
    ///   - address: that of a size or an avatar.
    ///   - limit: how long to wait for the size to be made.
    /// - Throws: `not_ready`, `not_found`, `media_gone`, `broken_media`.
    public func bytes(
      of address: String, acceptsWebP: Bool = false, within limit: Duration = .seconds(60)
    ) async throws -> Data {
      guard let url = url(address) else { throw FanmillError(.notFound, "there is no picture at this address") }
      // Without the session: pictures are public, and a bucket must not get the token.
      let headers = ["User-Agent": sender.userAgent, "Accept": acceptsWebP ? "image/webp, image/jpeg" : "image/jpeg"]
      let request = TransportRequest(method: "GET", url: url, headers: headers)
      return try await sender.ready(within: limit) { try await sender.fetch(request) }.body
    }
  }
}
