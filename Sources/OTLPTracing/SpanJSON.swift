import DurableJobs
import Instrumentation
import Tracing

/// The JSON form of an `ExportTraceServiceRequest`
/// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids in hexadecimal, 64-bit numbers as strings.
struct SpanJSON {
  private var bytes: [UInt8] = []

  static func request(_ spans: [FinishedSpan], _ configuration: OTLPTracer.Configuration) -> [UInt8] {
    var json = SpanJSON()
    json.bytes.reserveCapacity(spans.count * 600)
    json.write(#"{"resourceSpans":[{"resource":{"attributes":["#)
    json.attribute("service.name", .string(configuration.service))
    json.write(",")
    json.attribute("service.version", .string(configuration.version))
    json.write(#"]},"scopeSpans":[{"scope":{"name":"durablejobs"},"spans":["#)
    for (index, span) in spans.enumerated() {
      if index > 0 { json.write(",") }
      json.span(span)
    }
    json.write("]}]}]}")
    return json.bytes
  }

  private mutating func span(_ span: FinishedSpan) {
    write(#"{"traceId":""#)
    write("\(span.context.id)")
    write(#"","spanId":""#)
    write(Self.hexadecimal(span.context.span))
    if let parent = span.parent {
      write(#"","parentSpanId":""#)
      write(Self.hexadecimal(parent))
    }
    write(#"","name":"#)
    text(span.name)
    write(#","kind":\#(Self.number(of: span.kind)),"startTimeUnixNano":"\#(span.start)","#)
    write(#""endTimeUnixNano":"\#(span.end ?? span.start)","#)
    attributes(span.attributes)
    list("events", span.events) { json, event in
      json.write(#"{"timeUnixNano":"\#(event.nanosecondsSinceEpoch)","name":"#)
      json.text(event.name)
      json.write(",")
      json.attributes(event.attributes)
      json.write("}")
    }
    list("links", span.links) { json, link in
      json.write(#"{"traceId":"\#(link.id)","spanId":"\#(Self.hexadecimal(link.span))"}"#)
    }
    if let status = span.status {
      write(#","status":{"code":\#(status.code == .error ? 2 : 1)"#)
      if let message = status.message {
        write(#","message":"#)
        text(message)
      }
      write("}")
    }
    write("}")
  }

  private mutating func list<Item>(_ name: String, _ items: [Item], _ body: (inout SpanJSON, Item) -> Void) {
    if items.isEmpty { return }
    write(#","\#(name)":["#)
    for (index, item) in items.enumerated() {
      if index > 0 { write(",") }
      body(&self, item)
    }
    write("]")
  }

  private mutating func attributes(_ attributes: SpanAttributes) {
    write(#""attributes":["#)
    var isFirst = true
    attributes.forEach { key, value in
      if !isFirst { write(",") }
      isFirst = false
      attribute(key, value)
    }
    write("]")
  }

  private mutating func attribute(_ key: String, _ value: SpanAttribute) {
    write(#"{"key":"#)
    text(key)
    write(#","value":{"#)
    switch value {
    case .int32(let number): write(#""intValue":"\#(number)""#)
    case .int64(let number): write(#""intValue":"\#(number)""#)
    case .double(let number) where number.isFinite: write(#""doubleValue":\#(number)"#)
    case .bool(let flag): write(#""boolValue":\#(flag)"#)
    case .string(let string):
      write(#""stringValue":"#)
      text(string)
    case .stringConvertible(let described):
      write(#""stringValue":"#)
      text("\(described)")
    default:
      // Lists, and numbers that JSON cannot represent.
      write(#""stringValue":"#)
      text("\(value)")
    }
    write("}}")
  }

  private mutating func write(_ text: String) { bytes += text.utf8 }

  /// A string with the escapes of RFC 8259, section 7.
  private mutating func text(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        bytes += "\\u\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)".utf8
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func hexadecimal(_ span: UInt64) -> String {
    let digits = String(span, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  private static func number(of kind: SpanKind) -> Int {
    switch kind {
    case .internal: 1
    case .server: 2
    case .client: 3
    case .producer: 4
    case .consumer: 5
    }
  }
}
