extension Settings {
  /// Reads the limits on the duration of requests and connections, and on the number of connections.
  mutating func takeHTTP(_ reader: SettingsReader) throws(SettingsError) {
    try takeTime(.requestTimeout, reader) { $0.requestTimeout = $1 }
    try takeTime(.httpHeadTimeout, reader) { $0.connectionLimits.head = $1 }
    try takeTime(.httpBodyTimeout, reader) { $0.connectionLimits.body = $1 }
    try takeTime(.httpIdleTimeout, reader) { $0.connectionLimits.idle = $1 }
    try take(.httpConnections, reader.number(.httpConnections, in: 1...1_000_000)) { $0.connectionLimits.total = $1 }
    try take(.httpClientConnections, reader.number(.httpClientConnections, in: 0...1_000_000)) {
      $0.connectionLimits.perClient = $1
    }
  }

  private mutating func takeTime(
    _ setting: Setting, _ reader: SettingsReader, into set: (inout Settings, Duration) -> Void
  ) throws(SettingsError) {
    try take(setting, reader.text(setting)) { settings, text throws(Wrong) in
      guard let duration = Self.duration(text), .milliseconds(10) <= duration, duration <= .seconds(3600) else {
        throw Wrong(value: text, reason: "not a time from 10ms to 60m, such as 500ms, 5s or 2m")
      }
      set(&settings, duration)
    }
  }
}
