import Hummingbird

/// A malformed response.
struct StandInBrokenAnswer {
  private struct HangUp: Error {}

  private let order: StandInControl.Order
  /// The body of the normal response.
  private let body: [UInt8]

  init(_ order: StandInControl.Order, _ body: [UInt8]) {
    (self.order, self.body) = (order, body)
  }

  /// nil for a fault that does not change the response.
  var response: Response? {
    switch order.fault {
    case .notJSON: page(.ok, "<!DOCTYPE html><html><title>Sorry</title><body>Not what you wanted.</body></html>")
    case .internalErrorPage:
      page(.internalServerError, "<!DOCTYPE html><html><title>Error 500</title><body><b>500.</b> That's an error.")
    case .cutOffJSON: json(ResponseBody(byteBuffer: ByteBuffer(bytes: body.prefix(body.count / 2))))
    case .cutOff: json(pieces([body.prefix(body.count / 2)], declared: body.count))
    case .drop: json(pieces([], declared: body.count))
    case .tooLarge: json(large)
    case .trickle: json(trickle)
    default: nil
    }
  }

  private func json(_ body: ResponseBody) -> Response {
    Response(status: .ok, headers: [.contentType: "application/json; charset=UTF-8"], body: body)
  }

  private func page(_ status: HTTPResponse.Status, _ text: String) -> Response {
    Response(
      status: status, headers: [.contentType: "text/html; charset=UTF-8"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }

  /// A part of the body, followed by the end of the connection.
  private func pieces(_ pieces: [ArraySlice<UInt8>], declared: Int) -> ResponseBody {
    ResponseBody(contentLength: declared) { writer in
      for piece in pieces { try await writer.write(ByteBuffer(bytes: piece)) }
      throw HangUp()
    }
  }

  /// 32 MiB of valid JSON.
  private var large: ResponseBody {
    ResponseBody { writer in
      try await writer.write(ByteBuffer(string: "{\"items\":[\""))
      let piece = ByteBuffer(repeating: UInt8(ascii: "x"), count: 1 << 16)
      for _ in 0..<512 { try await writer.write(piece) }
      try await writer.write(ByteBuffer(string: "\"]}"))
      try await writer.finish(nil)
    }
  }

  private var trickle: ResponseBody {
    let (bytes, pause) = (body, order.seconds ?? 0.05)
    return ResponseBody(contentLength: bytes.count) { writer in
      for byte in bytes {
        try await writer.write(ByteBuffer(bytes: [byte]))
        try await Task.sleep(for: .seconds(pause))
      }
      try await writer.finish(nil)
    }
  }
}
