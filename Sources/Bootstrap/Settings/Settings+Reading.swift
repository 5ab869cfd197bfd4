import DurableJobs
import Foundation
import Logging
import Social

extension Settings {
  /// Reads every setting from the flags, else the environment, else the file.
  ///
  /// - Parameters:
  ///   - flags: the flags on the command line.
  ///   - environment: the process's variables.
  ///   - file: the path of the settings file; nil for none.
  ///   - required: the settings that the caller needs.
  /// - Throws: the first error, in one line.
  public static func read(
    flags: [Setting: String] = [:], environment: [String: String], file: String? = nil,
    requiring required: [Setting] = []
  ) throws(SettingsError) -> Settings {
    let path = file ?? environment["FANMILL_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
    var loaded: SettingsFile?
    if let path { loaded = try SettingsFile(path: path) }
    let reader = SettingsReader(
      flags: flags, environment: environment, secretFiles: try secretFiles(environment), file: loaded)
    var settings = Settings()

    try settings.take(.postgresURL, reader.text(.postgresURL)) { $0.postgresURL = Secret($1) }
    try settings.take(.postgresReplicaURL, reader.text(.postgresReplicaURL)) { $0.postgresReplicaURL = Secret($1) }
    try settings.take(.postgresPool, reader.number(.postgresPool, in: 1...1000)) { $0.postgresPool = $1 }
    try settings.take(.redisURL, reader.text(.redisURL)) { $0.redisURL = Secret($1) }
    try settings.take(.host, reader.text(.host)) { $0.host = $1 }
    try settings.take(.apiPort, reader.number(.apiPort, in: 0...65535)) { $0.apiPort = $1 }
    try settings.takeHTTP(reader)
    try settings.take(.workerPort, reader.number(.workerPort, in: 0...65535)) { $0.workerPort = $1 }
    try settings.take(.workerConcurrency, reader.number(.workerConcurrency, in: 1...10_000)) {
      $0.workerConcurrency = $1
    }
    try settings.take(.queues, reader.list(.queues)) { settings, entries throws(Wrong) in
      let queues = try entries.map(queue(named:))
      if let twice = queues.first(where: { one in queues.count { $0.name == one.name } > 1 }) {
        throw Wrong(value: entries.joined(separator: ","), reason: "the queue \(twice.name) is given twice")
      }
      settings.queues = queues
    }
    try settings.take(.scheduler, reader.text(.scheduler)) { settings, text throws(Wrong) in
      settings.scheduler = try isOn(text)
    }
    try settings.take(.jobsPayloadLimit, reader.number(.jobsPayloadLimit, in: 1024...16_777_216)) {
      $0.jobsPayloadLimit = $1
    }
    try settings.take(.feedDays, reader.number(.feedDays, in: 0...36_500)) { $0.feedDays = $1 }
    try settings.take(.feedPushLimit, reader.number(.feedPushLimit, in: 0...1_000_000_000)) { $0.feedPushLimit = $1 }
    try settings.take(.feedSleepDays, reader.number(.feedSleepDays, in: 0...36_500)) { $0.feedSleepDays = $1 }
    try settings.take(.youtubeURL, reader.text(.youtubeURL)) { settings, text throws(Wrong) in
      guard let url = URL(string: text), url.scheme == "https" || url.scheme == "http", url.host != nil else {
        throw Wrong(value: text, reason: "not a URL that begins with https:// or http://")
      }
      settings.youtubeURL = text
    }
    try settings.take(.youtubeKeys, reader.list(.youtubeKeys)) { settings, keys throws(Wrong) in
      // A key must not break out of the line that it is written into.
      guard keys.allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else {
        throw Wrong(value: "", reason: "a key consists of letters, digits and signs, without spaces")
      }
      settings.youtubeKeys = keys.map(Secret.init)
    }
    try settings.take(.youtubeSearches, reader.number(.youtubeSearches, in: 0...10_000_000)) { $0.youtubeSearches = $1 }
    try settings.take(.youtubeUnits, reader.number(.youtubeUnits, in: 0...1_000_000_000)) { $0.youtubeUnits = $1 }
    try settings.take(.youtubeSearchUnits, reader.number(.youtubeSearchUnits, in: 0...10_000)) {
      $0.youtubeSearchUnits = $1
    }
    try settings.take(.youtubeAccountPercent, reader.number(.youtubeAccountPercent, in: 1...100)) {
      $0.youtubeAccountPercent = $1
    }
    try settings.take(.youtubeFreshHours, reader.number(.youtubeFreshHours, in: 0...720)) { $0.youtubeFreshHours = $1 }
    try settings.take(.youtubeRefreshDays, reader.number(.youtubeRefreshDays, in: 1...30)) {
      $0.youtubeRefreshDays = $1
    }
    try settings.take(.youtubeKeepDays, reader.number(.youtubeKeepDays, in: 1...30)) { $0.youtubeKeepDays = $1 }
    try settings.take(.adminToken, reader.text(.adminToken)) { settings, text throws(Wrong) in
      guard text.count >= 16 else {
        throw Wrong(value: text, reason: "\(text.count) characters are too few: use at least 16")
      }
      settings.adminToken = Secret(text)
    }
    try settings.take(.adminReadToken, reader.text(.adminReadToken)) { settings, text throws(Wrong) in
      guard text.count >= 16 else {
        throw Wrong(value: text, reason: "\(text.count) characters are too few: use at least 16")
      }
      guard text != settings.adminToken?.value else {
        throw Wrong(value: text, reason: "the same as FANMILL_ADMIN_TOKEN, which grants full access")
      }
      settings.adminReadToken = Secret(text)
    }
    try settings.take(.adminPort, reader.number(.adminPort, in: 0...65535)) { settings, port throws(Wrong) in
      guard port == 0 || port != settings.apiPort else {
        throw Wrong(value: "\(port)", reason: "the same as FANMILL_API_PORT: leave it unset to use one port for both")
      }
      settings.adminPort = port
    }
    try settings.take(.adminURL, reader.text(.adminURL)) { settings, text throws(Wrong) in
      guard let url = URL(string: text), url.scheme == "https" || url.scheme == "http", url.host != nil, url.user == nil
      else { throw Wrong(value: text, reason: "not a URL that begins with https:// or http://") }
      settings.adminURL = text
    }
    try settings.take(.trustedProxies, reader.list(.trustedProxies)) { settings, entries throws(Wrong) in
      do throws(TrustedProxies.Refusal) {
        settings.trustedProxies = try TrustedProxies(entries)
      } catch {
        throw Wrong(value: entries.joined(separator: ","), reason: error.description)
      }
    }
    try settings.take(.limits, reader.text(.limits)) { settings, text throws(Wrong) in
      settings.limits = try isOn(text)
    }
    try settings.take(.limitPosts, reader.number(.limitPosts, in: limitRange)) { $0.requestLimits.posts = $1 }
    try settings.take(.limitFollows, reader.number(.limitFollows, in: limitRange)) { $0.requestLimits.follows = $1 }
    try settings.take(.limitLikes, reader.number(.limitLikes, in: limitRange)) { $0.requestLimits.likes = $1 }
    try settings.take(.limitComments, reader.number(.limitComments, in: limitRange)) { $0.requestLimits.comments = $1 }
    try settings.take(.limitLookups, reader.number(.limitLookups, in: limitRange)) { $0.requestLimits.lookups = $1 }
    try settings.take(.limitSignUps, reader.number(.limitSignUps, in: limitRange)) { $0.requestLimits.signUps = $1 }
    try settings.take(.celebLimit, reader.number(.celebLimit, in: 0...1_000_000)) { $0.celebLimit = $1 }
    try settings.take(.limitUploads, reader.number(.limitUploads, in: limitRange)) { $0.requestLimits.uploads = $1 }
    try settings.take(.limitUploadTokens, reader.number(.limitUploadTokens, in: limitRange)) {
      $0.requestLimits.uploadTokens = $1
    }
    try settings.take(.web, reader.text(.web)) { settings, text throws(Wrong) in
      settings.web = try isOn(text)
    }
    try settings.take(.agreements, reader.text(.agreements)) { settings, text throws(Wrong) in
      settings.agreements = try isOn(text)
    }
    try settings.take(.adultStatement, reader.text(.adultStatement)) { settings, text throws(Wrong) in
      settings.adultStatement = try isOn(text)
    }
    try settings.take(.certificateKey, reader.text(.certificateKey)) { settings, text throws(Wrong) in
      settings.certificateKey = Secret(try signingKey(text))
    }
    try settings.take(.webhooksPrivate, reader.text(.webhooksPrivate)) { settings, text throws(Wrong) in
      settings.webhooksPrivate = try isOn(text)
    }
    try settings.take(.webhooksDays, reader.number(.webhooksDays, in: 1...90)) { $0.webhooksDays = $1 }
    try settings.take(.publicURL, reader.text(.publicURL)) { settings, text throws(Wrong) in
      guard let url = URL(string: text), url.scheme == "https" || url.scheme == "http", url.host != nil,
        url.query == nil
      else { throw Wrong(value: text, reason: "not a URL that begins with https:// or http://") }
      settings.publicURL = text.hasSuffix("/") ? String(text.dropLast()) : text
    }
    try settings.takePurchases(reader)
    try settings.takeMail(reader)
    try settings.takeMedia(reader)
    try settings.take(.rankingTimeZone, reader.text(.rankingTimeZone)) { settings, text throws(Wrong) in
      guard TimeZone.knownTimeZoneIdentifiers.contains(text) || text == "UTC" else {
        throw Wrong(value: text, reason: "not a time zone's IANA name, such as Asia/Seoul or UTC")
      }
      settings.rankingTimeZone = text
    }
    try settings.take(.rankingDepth, reader.number(.rankingDepth, in: 1...100_000)) { $0.rankingDepth = $1 }
    try settings.take(.rankingHistory, reader.number(.rankingHistory, in: 1...36_500)) { $0.rankingHistory = $1 }
    try settings.take(.rankingPoints, reader.number(.rankingPoints, in: 1...36_500)) { $0.rankingPoints = $1 }
    try settings.take(.endedDays, reader.number(.endedDays, in: 1...3650)) { $0.endedDays = $1 }
    try settings.take(.deadDays, reader.number(.deadDays, in: 1...3650)) { $0.deadDays = $1 }
    try settings.take(.deadLimit, reader.number(.deadLimit, in: 1...100_000_000)) { $0.deadLimit = $1 }
    try settings.take(.actionsDays, reader.number(.actionsDays, in: 1...3650)) { $0.actionsDays = $1 }
    try settings.take(.actionsLimit, reader.number(.actionsLimit, in: 1...100_000_000)) { $0.actionsLimit = $1 }
    try settings.takeObservation(reader)
    try settings.take(.logLevel, reader.text(.logLevel)) { settings, text throws(Wrong) in
      guard let level = Logger.Level(rawValue: text.lowercased()) else {
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw Wrong(value: text, reason: "not one of \(levels)")
      }
      settings.logLevel = level
    }
    try settings.take(.logFormat, reader.text(.logFormat)) { settings, text throws(Wrong) in
      guard let format = LogFormat(rawValue: text.lowercased()) else {
        throw Wrong(value: text, reason: "not one of text, json")
      }
      settings.logFormat = format
    }
    try settings.take(.shutdownTimeout, reader.text(.shutdownTimeout)) { settings, text throws(Wrong) in
      guard let duration = duration(text), duration <= .seconds(3600) else {
        throw Wrong(value: text, reason: "not a time from 0s to 60m, such as 500ms, 30s or 2m")
      }
      settings.shutdownTimeout = duration
    }

    for setting in required where settings.sources[setting] == nil && setting.fallback == nil {
      throw .missing(setting)
    }
    return settings
  }

  /// The reason why a value is refused, before its source is known.
  struct Wrong: Error {
    let value: String
    let reason: String
  }

  mutating func take<Value>(
    _ setting: Setting, _ found: SettingsReader.Found<Value>?, into set: (inout Settings, Value) throws(Wrong) -> Void
  ) throws(SettingsError) {
    guard let found else { return }
    do throws(Wrong) {
      try set(&self, found.value)
    } catch {
      throw .invalid(setting, error.value, from: found.source, error.reason)
    }
    sources[setting] = found.source
  }

  /// From one token per hour to many per second.
  private static let limitRange = 0...10_000_000

  /// `name` or `name:limit`.
  private static func queue(named entry: String) throws(Wrong) -> Queue {
    let parts = entry.split(separator: ":", omittingEmptySubsequences: false)
    let name = QueueName(rawValue: String(parts[0]))
    guard name.isValid else {
      throw Wrong(value: entry, reason: "a queue's name is 1 to 64 letters, digits, hyphens, underscores and dots")
    }
    guard parts.count > 1 else { return Queue(name: name) }
    guard parts.count == 2, let limit = Int(parts[1]), 1...10_000 ~= limit else {
      throw Wrong(value: entry, reason: "after the colon, use a whole number from 1 to 10000")
    }
    return Queue(name: name, concurrency: limit)
  }

  static func isOn(_ text: String) throws(Wrong) -> Bool {
    guard let isOn = ["on": true, "off": false][text.lowercased()] else {
      throw Wrong(value: text, reason: "not one of on, off")
    }
    return isOn
  }

  /// Reads `500ms`, `30s`, `2m` or a bare number of seconds.
  static func duration(_ text: String) -> Duration? {
    let units: [(suffix: String, unit: Duration)] = [
      ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)), ("", .seconds(1)),
    ]
    for (suffix, unit) in units where text.hasSuffix(suffix) {
      guard let count = Int(text.dropLast(suffix.count)), 0...1_000_000_000 ~= count else { return nil }
      return unit * count
    }
    return nil
  }
}
