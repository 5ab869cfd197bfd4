/// A word of the API whose set may grow: a value that this client does not know is kept as it came.
public protocol OpenValue: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible
where RawValue == String {
  init(rawValue: String)
}

extension OpenValue {
  public var description: String { rawValue }

  public init(from decoder: any Decoder) throws {
    self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
