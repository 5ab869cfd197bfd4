import Social

/// The address of a picture: a path on this server.
struct PictureAddress: JSONWritable, Sendable {
  let id: MediaID
  let size: PictureSize

  var text: String { "/media/\(id.text)/\(size.rawValue)" }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  func write(to json: inout JSONBytes) { json.plain("/media/", id.text, "/", size.rawValue) }
}

/// An upload as its owner sees it.
struct MediaView: Encodable, Sendable {
  let id: String
  /// `waiting`, `ready` or `failed`.
  let state: String
  let url: String
  let width: Int
  let height: Int
  let sizes: PictureSizesView
  /// The reason for a failure.
  let reason: String?

  init(_ media: Media) {
    id = media.id.text
    state = media.state.rawValue
    url = PictureAddress(id: media.id, size: .feed).text
    width = media.width
    height = media.height
    sizes = PictureSizesView(media.id, width: media.width, height: media.height)
    reason = media.failure
  }
}

/// A picture of a post.
struct PictureView: JSONWritable, Sendable {
  let id: String
  let url: PictureAddress
  let width: Int
  let height: Int
  let sizes: PictureSizesView

  init(_ media: ShownMedia) {
    id = media.id.text
    url = PictureAddress(id: media.id, size: .feed)
    width = media.width
    height = media.height
    sizes = PictureSizesView(media.id, width: media.width, height: media.height)
  }

  func write(to json: inout JSONBytes) {
    json.object { json in
      json.field("id", id)
      json.field("url", url)
      json.field("width", width)
      json.field("height", height)
      json.field("sizes", sizes)
    }
  }
}

struct PictureSizesView: JSONWritable, Sendable {
  let thumb: Size
  let feed: Size
  let full: Size

  struct Size: JSONWritable, Sendable {
    let url: PictureAddress
    let width: Int
    let height: Int

    func write(to json: inout JSONBytes) {
      json.object { json in
        json.field("url", url)
        json.field("width", width)
        json.field("height", height)
      }
    }
  }

  init(_ id: MediaID, width: Int, height: Int) {
    func size(_ size: PictureSize) -> Size {
      let fitted = size.fitted(width: width, height: height)
      return Size(url: PictureAddress(id: id, size: size), width: fitted.width, height: fitted.height)
    }
    thumb = size(.thumb)
    feed = size(.feed)
    full = size(.full)
  }

  func write(to json: inout JSONBytes) {
    json.object { json in
      json.field("thumb", thumb)
      json.field("feed", feed)
      json.field("full", full)
    }
  }
}
