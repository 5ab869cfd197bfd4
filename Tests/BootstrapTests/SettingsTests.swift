import ArgumentParser
import CurlClient
import DurableJobs
import DurableJobsAdmin
import Foundation
import Logging
import Reactor
import Social
import TestSupport
import Testing

@testable import Bootstrap

struct SettingsTests {
  /// A value for each setting, as flag or variable, and in the file's own types, each different from the default.
  static let samples: [(setting: Setting, values: [String], json: @Sendable (String) -> String)] = [
    (.postgresURL, ["postgres://a/1", "postgres://a/2", "postgres://a/3"], quoted),
    (.postgresReplicaURL, ["postgres://r/1", "postgres://r/2", "postgres://r/3"], quoted),
    (.postgresPool, ["3", "4", "5"], bare),
    (.redisURL, ["redis://a/1", "redis://a/2", "redis://a/3"], quoted),
    (.host, ["127.0.0.1", "127.0.0.2", "127.0.0.3"], quoted),
    (.apiPort, ["1001", "1002", "1003"], bare),
    (.requestTimeout, ["1s", "2s", "3s"], quoted),
    (.httpHeadTimeout, ["4s", "5s", "6s"], quoted),
    (.httpBodyTimeout, ["7s", "8s", "9s"], quoted),
    (.httpIdleTimeout, ["11s", "12s", "13s"], quoted),
    (.httpConnections, ["101", "102", "103"], bare),
    (.httpClientConnections, ["0", "14", "15"], bare),
    (.workerPort, ["2001", "2002", "2003"], bare),
    (.workerConcurrency, ["31", "32", "33"], bare),
    (.queues, ["a,b:2", "c", "d"], array),
    (.scheduler, ["off", "off", "off"], quoted),
    (.jobsPayloadLimit, ["1024", "65536", "16777216"], bare),
    (.feedDays, ["7", "8", "0"], bare),
    (.feedPushLimit, ["0", "27", "28"], bare),
    (.feedSleepDays, ["29", "30", "31"], bare),
    (.youtubeURL, ["http://a", "https://b/v3", "https://c"], quoted),
    (.youtubeKeys, ["a,b", "c", "d"], array),
    (.youtubeSearches, ["1", "2", "3"], bare),
    (.youtubeUnits, ["4", "5", "6"], bare),
    (.youtubeSearchUnits, ["7", "8", "9"], bare),
    (.youtubeAccountPercent, ["1", "50", "100"], bare),
    (.youtubeFreshHours, ["10", "11", "12"], bare),
    (.youtubeRefreshDays, ["13", "14", "15"], bare),
    (.youtubeKeepDays, ["16", "17", "18"], bare),
    (.adminToken, ["0123456789abcdef", "0123456789abcdeg", "0123456789abcdeh"], quoted),
    (.adminReadToken, ["read-0123456789a", "read-0123456789b", "read-0123456789c"], quoted),
    (.adminPort, ["3001", "3002", "0"], bare),
    (.adminURL, ["https://a.example", "http://b.example:8080", "https://c.example/"], quoted),
    (.trustedProxies, ["10.0.0.0/8,192.0.2.7", "::1", "fd00::/8"], array),
    (.limits, ["off", "off", "off"], quoted),
    (.limitPosts, ["0", "1", "2"], bare),
    (.limitFollows, ["3", "4", "5"], bare),
    (.limitLikes, ["6", "7", "8"], bare),
    (.limitComments, ["9", "10", "11"], bare),
    (.limitLookups, ["12", "13", "14"], bare),
    (.limitSignUps, ["15", "16", "17"], bare),
    (.celebLimit, ["0", "5", "7"], bare),
    (.limitUploads, ["18", "19", "20"], bare),
    (.limitUploadTokens, ["21", "22", "23"], bare),
    (.mediaQuota, ["24", "25", "26"], bare),
    (.mediaUploadRate, ["24", "25", "26"], bare),
    (.mediaControlGroup, ["/g/a", "/g/b", "/g/c"], quoted),
    (
      .certificateKey,
      ["a", "b", "c"].map { String(repeating: $0, count: 32) }, quoted
    ),
    (.webhooksPrivate, ["on", "off", "on"], quoted),
    (.webhooksDays, ["8", "9", "10"], bare),
    (.web, ["off", "on", "off"], quoted), (.agreements, ["off", "on", "off"], quoted),
    (.adultStatement, ["on", "off", "on"], quoted),
    (.publicURL, ["https://a.example", "http://b.example:8080", "https://c.example"], quoted),
    (.purchaseKey, ["d", "e", "f"].map { String(repeating: $0, count: 32) }, quoted),
    (.storeKitRoot, ["/r/a", "/r/b", "/r/c"], quoted),
    (.storeKitBundle, ["a.b", "c.d", "e.f"], quoted),
    (.storeKitProducts, ["a=1,b=2", "c=1000", "d=3"], array),
    (.storeKitSandbox, ["on", "off", "on"], quoted),
    (.mailURL, ["smtp://a", "smtps://u:p@b:1", "smtp://c:25"], quoted),
    (.mailFrom, ["a@example.org", "b@example.org", "c@example.org"], quoted),
    (.passwordResetURL, ["https://a/{token}", "http://b/?t={token}", "https://c/#{token}"], quoted),
    (.emailConfirmationURL, ["https://a/{token}", "http://b/?t={token}", "https://c/#{token}"], quoted),
    (.accountDeletionURL, ["https://a/{token}", "http://b/?t={token}", "https://c/#{token}"], quoted),
    (.signUpConfirmation, ["on", "off", "on"], quoted),
    (.mediaDir, ["/a", "/b/c", "/d"], quoted),
    (
      .mediaURL, ["s3+https://k:s@a/abc", "s3+http://k:s@[::1]:9/abc/d", "s3+https://k:s@b/abc?region=eu-west-1"],
      quoted
    ),
    (.rankingTimeZone, ["UTC", "America/New_York", "Europe/Paris"], quoted),
    (.rankingDepth, ["1", "100", "100000"], bare),
    (.rankingHistory, ["1", "30", "365"], bare),
    (.rankingPoints, ["1", "30", "3650"], bare),
    (.endedDays, ["1", "30", "365"], bare),
    (.deadDays, ["1", "30", "365"], bare),
    (.deadLimit, ["1", "30", "365"], bare),
    (.actionsDays, ["1", "30", "3650"], bare),
    (.actionsLimit, ["1", "30", "365"], bare),
    (.alarms, ["*:waiting=1h", "a:running=5s", "a:waiting=off,running=1s;*:waiting=1s"], quoted),
    (.alarmWebhook, ["http://a/b", "https://c", "https://d?e=f"], quoted),
    (.alarmSecret, ["alarm-0123456789a", "alarm-0123456789b", "alarm-0123456789c"], quoted),
    (.autoscalingMinimum, ["0", "2", "20"], bare),
    (.otlpURL, ["http://a:4318", "https://u:p@c/v1/traces", "https://d"], quoted),
    (.autoscalingMaximum, ["1", "3", "10000"], bare),
    (.logLevel, ["debug", "error", "trace"], quoted),
    (.logFormat, ["json", "json", "json"], quoted),
    (.shutdownTimeout, ["1s", "2m", "300ms"], quoted),
  ]

  private static let quoted: @Sendable (String) -> String = { "\"\($0)\"" }
  private static let array: @Sendable (String) -> String = { list in
    "[" + list.split(separator: ",").map { "\"\($0)\"" }.joined(separator: ",") + "]"
  }
  private static let bare: @Sendable (String) -> String = { $0 }

  /// A setting's value as text, so that all can be compared the same way.
  private func inSeconds(_ duration: Duration) -> String { "\(Int(duration / .seconds(1)))s" }

  private func shown(_ setting: Setting, _ settings: Settings) -> String? {
    switch setting {
    case .postgresURL: settings.postgresURL?.value
    case .postgresReplicaURL: settings.postgresReplicaURL?.value
    case .postgresPool: "\(settings.postgresPool)"
    case .redisURL: settings.redisURL?.value
    case .host: settings.host
    case .apiPort: "\(settings.apiPort)"
    case .requestTimeout: inSeconds(settings.requestTimeout)
    case .httpHeadTimeout: inSeconds(settings.connectionLimits.head)
    case .httpBodyTimeout: inSeconds(settings.connectionLimits.body)
    case .httpIdleTimeout: inSeconds(settings.connectionLimits.idle)
    case .httpConnections: "\(settings.connectionLimits.total)"
    case .httpClientConnections: "\(settings.connectionLimits.perClient)"
    case .workerPort: "\(settings.workerPort)"
    case .workerConcurrency: "\(settings.workerConcurrency)"
    case .queues:
      settings.queues?.map { queue in
        queue.concurrency.map { "\(queue.name):\($0)" } ?? queue.name.rawValue
      }.joined(separator: ",")
    case .scheduler: settings.scheduler ? "on" : "off"
    case .jobsPayloadLimit: "\(settings.jobsPayloadLimit)"
    case .feedDays: "\(settings.feedDays)"
    case .feedPushLimit: "\(settings.feedPushLimit)"
    case .feedSleepDays: "\(settings.feedSleepDays)"
    case .youtubeURL: settings.youtubeURL
    case .youtubeKeys: settings.youtubeKeys.isEmpty ? nil : settings.youtubeKeys.map(\.value).joined(separator: ",")
    case .youtubeSearches: "\(settings.youtubeSearches)"
    case .youtubeUnits: "\(settings.youtubeUnits)"
    case .youtubeSearchUnits: "\(settings.youtubeSearchUnits)"
    case .youtubeAccountPercent: "\(settings.youtubeAccountPercent)"
    case .youtubeFreshHours: "\(settings.youtubeFreshHours)"
    case .youtubeRefreshDays: "\(settings.youtubeRefreshDays)"
    case .youtubeKeepDays: "\(settings.youtubeKeepDays)"
    case .adminToken: settings.adminToken?.value
    case .adminReadToken: settings.adminReadToken?.value
    case .adminPort: settings.adminPort.map { "\($0)" }
    case .adminURL: settings.adminURL
    case .trustedProxies:
      settings.trustedProxies == .none ? nil : settings.trustedProxies.entries.joined(separator: ",")
    case .limits: settings.limits ? "on" : "off"
    case .limitPosts: "\(settings.requestLimits.posts)"
    case .limitFollows: "\(settings.requestLimits.follows)"
    case .limitLikes: "\(settings.requestLimits.likes)"
    case .limitComments: "\(settings.requestLimits.comments)"
    case .limitLookups: "\(settings.requestLimits.lookups)"
    case .limitSignUps: "\(settings.requestLimits.signUps)"
    case .celebLimit: "\(settings.celebLimit)"
    case .limitUploads: "\(settings.requestLimits.uploads)"
    case .limitUploadTokens: "\(settings.requestLimits.uploadTokens)"
    case .mediaQuota: "\(settings.mediaQuota / 1_000_000)"
    case .mediaUploadRate: "\(settings.mediaUploadRate / 1_000_000)"
    case .mediaControlGroup: settings.mediaControlGroup
    case .certificateKey: settings.certificateKey?.value
    case .webhooksPrivate: settings.webhooksPrivate ? "on" : "off"
    case .webhooksDays: "\(settings.webhooksDays)"
    case .web: settings.web ? "on" : "off"
    case .agreements: settings.agreements ? "on" : "off"
    case .adultStatement: settings.adultStatement ? "on" : "off"
    case .publicURL: settings.publicURL
    case .purchaseKey: settings.purchaseKey?.value
    case .storeKitRoot: settings.storeKitRoot
    case .storeKitBundle: settings.storeKitBundle
    case .storeKitProducts:
      settings.storeKitProducts.isEmpty
        ? nil : settings.storeKitProducts.map { "\($0)=\($1)" }.sorted().joined(separator: ",")
    case .storeKitSandbox: settings.storeKitSandbox ? "on" : "off"
    case .mailURL: settings.mailURL?.value
    case .mailFrom: settings.mailFrom
    case .passwordResetURL: settings.passwordResetURL
    case .emailConfirmationURL: settings.emailConfirmationURL
    case .accountDeletionURL: settings.accountDeletionURL
    case .signUpConfirmation: settings.signUpConfirmation ? "on" : "off"
    case .mediaDir: settings.mediaDir
    case .mediaURL: settings.mediaURL?.value
    case .rankingTimeZone: settings.rankingTimeZone
    case .rankingDepth: "\(settings.rankingDepth)"
    case .rankingHistory: "\(settings.rankingHistory)"
    case .rankingPoints: "\(settings.rankingPoints)"
    case .endedDays: "\(settings.endedDays)"
    case .deadDays: "\(settings.deadDays)"
    case .deadLimit: "\(settings.deadLimit)"
    case .actionsDays: "\(settings.actionsDays)"
    case .actionsLimit: "\(settings.actionsLimit)"
    case .alarms: settings.alarms.text
    case .alarmWebhook: settings.alarmWebhook?.value
    case .alarmSecret: settings.alarmSecret?.value
    case .autoscalingMinimum: "\(settings.autoscalingMinimum)"
    case .otlpURL: settings.otlpURL?.value
    case .autoscalingMaximum: "\(settings.autoscalingMaximum)"
    case .logLevel: settings.logLevel.rawValue
    case .logFormat: settings.logFormat.rawValue
    case .shutdownTimeout:
      settings.shutdownTimeout == Settings.duration("30s")
        ? "30s" : ["1s", "2m", "300ms"].first { Settings.duration($0) == settings.shutdownTimeout }
    default: nil
    }
  }

  @Test func aSecretMayStandInAFileOfItsOwn() throws {
    for (setting, values, json) in Self.samples where setting.isSecret {
      try withFile(values[1] + "\n") { path in
        let environment = ["\(setting.variable)_FILE": path]
        #expect(try shown(setting, Settings.read(environment: environment)) == values[1], "\(setting.path)")
        let flagged = try Settings.read(flags: [setting: values[0]], environment: environment)
        #expect(shown(setting, flagged) == values[0])
        let both = environment.merging([setting.variable: values[0]]) { $1 }
        #expect(try shown(setting, Settings.read(environment: both)) == values[0])
        let empty = environment.merging([setting.variable: " "]) { $1 }
        #expect(try shown(setting, Settings.read(environment: empty)) == values[1])
        let nested = setting.components.reversed().reduce(json(values[2])) { "{\"\($1)\": \($0)}" }
        try withFile(nested) { file in
          let settings = try Settings.read(environment: environment, file: file)
          #expect(shown(setting, settings) == values[1])
        }
      }
    }
  }

  @Test func aSecretsFileThatCannotBeReadIsNamedAndItsContentIsNot() throws {
    let missing = #expect(throws: SettingsError.self) {
      try Settings.read(environment: ["FANMILL_ADMIN_TOKEN_FILE": "/nowhere/token"])
    }
    #expect(missing?.description == "FANMILL_ADMIN_TOKEN_FILE names /nowhere/token, which does not exist")
    try withFile("tooshort") { path in
      let short = #expect(throws: SettingsError.self) {
        try Settings.read(environment: ["FANMILL_ADMIN_TOKEN_FILE": path])
      }
      #expect(short?.description.contains("(from the file that FANMILL_ADMIN_TOKEN_FILE names)") == true)
      #expect(short?.description.contains("tooshort") == false)
    }
  }

  @Test func theOperatorsPortIsAnother() throws {
    let error = #expect(throws: SettingsError.self) {
      try Settings.read(environment: ["FANMILL_ADMIN_PORT": "8080"])
    }
    #expect(error?.description.contains("the same as FANMILL_API_PORT") == true)
    #expect(try Settings.read(environment: ["FANMILL_ADMIN_PORT": "0", "FANMILL_API_PORT": "0"]).adminPort == 0)
  }

  @Test func eachSettingIsReadFromFlagsThenEnvironmentThenFile() throws {
    #expect(Set(Self.samples.map(\.setting)) == Set(Setting.all))
    for (setting, values, json) in Self.samples {
      let nested = setting.components.reversed().reduce(json(values[2])) { "{\"\($1)\": \($0)}" }
      try withFile(nested) { file in
        let environment = [setting.variable: values[1], "FANMILL_CONFIG": file]
        let flagged = try Settings.read(flags: [setting: values[0]], environment: environment)
        #expect(shown(setting, flagged) == values[0])
        #expect(try shown(setting, Settings.read(environment: environment)) == values[1])
        #expect(try shown(setting, Settings.read(environment: ["FANMILL_CONFIG": file])) == values[2])
        #expect(try shown(setting, Settings.read(environment: [:], file: file)) == values[2])
        // As docker-compose passes an unset variable.
        let empty = try Settings.read(environment: [setting.variable: "", "FANMILL_CONFIG": file])
        #expect(shown(setting, empty) == values[2])
      }
      #expect(try shown(setting, Settings.read(environment: [:])) == setting.fallback, "\(setting.path)")
    }
  }

  @Test func theFlagsFileGoesBeforeTheEnvironments() throws {
    try withFile(#"{"api": {"port": 1}}"#) { one in
      try withFile(#"{"api": {"port": 2}}"#) { two in
        let settings = try Settings.read(environment: ["FANMILL_CONFIG": one], file: two)
        #expect(settings.apiPort == 2)
      }
    }
  }

  private static let notAPort = "not a whole number from 0 to 65535"
  private static let notAQueue = "a queue's name is 1 to 64 letters, digits, hyphens, underscores and dots"
  private static let notATime = "not a time from 0s to 60m, such as 500ms, 30s or 2m"

  @Test(arguments: [
    (Setting.apiPort, "abc", notAPort),
    (.apiPort, "65536", notAPort),
    (.workerPort, "-1", notAPort),
    (.workerConcurrency, "0", "not a whole number from 1 to 10000"),
    (.postgresPool, "1.5", "not a whole number from 1 to 1000"),
    (.queues, "fanout,,x", "an entry of the list is empty"),
    (.queues, "fanout:x", "after the colon, use a whole number from 1 to 10000"),
    (.queues, "Fan out", notAQueue),
    (.queues, ":2", notAQueue),
    (.queues, "a,a:2", "the queue a is given twice"),
    (.scheduler, "maybe", "not one of on, off"),
    (.feedDays, "-1", "not a whole number from 0 to 36500"),
    (.feedPushLimit, "many", "not a whole number from 0 to 1000000000"),
    (.feedSleepDays, "-1", "not a whole number from 0 to 36500"),
    (.youtubeURL, "googleapis", "not a URL that begins with https:// or http://"),
    (
      .trustedProxies, "proxy.example",
      "'proxy.example' is neither an address such as 192.0.2.7 nor a network such as 10.0.0.0/8"
    ),
    (.trustedProxies, "10.0.0.0/33", "after the slash, '10.0.0.0/33' needs a whole number from 0 to 32"),
    (.limits, "some", "not one of on, off"),
    (.limitPosts, "-1", "not a whole number from 0 to 10000000"),
    (.celebLimit, "-1", "not a whole number from 0 to 1000000"),
    (.mailFrom, "nobody", "not an email address such as ann@example.org"),
    (.passwordResetURL, "https://a/", "not a URL that begins with https:// or http:// and has {token} in it"),
    (.mediaDir, "media", "not the path of a folder that begins with /"),
    (.rankingTimeZone, "Mars/Base", "not a time zone's IANA name, such as Asia/Seoul or UTC"),
    (.rankingDepth, "0", "not a whole number from 1 to 100000"),
    (.rankingHistory, "0", "not a whole number from 1 to 36500"),
    (.jobsPayloadLimit, "1MiB", "not a whole number from 1024 to 16777216"),
    (.jobsPayloadLimit, "1023", "not a whole number from 1024 to 16777216"),
    (.endedDays, "0", "not a whole number from 1 to 3650"),
    (.alarms, "a:waiting=soon", "'soon' is neither a time such as 500ms, 30s, 5m or 2h, nor off"),
    (.autoscalingMinimum, "-1", "not a whole number from 0 to 10000"),
    (.autoscalingMaximum, "0", "not a whole number from 1 to 10000"),
    (.logLevel, "loud", "not one of trace, debug, info, notice, warning, error, critical"),
    (.logFormat, "xml", "not one of text, json"),
    (.shutdownTimeout, "soon", notATime),
  ])
  func aWrongValueIsRefusedInOneLine(setting: Setting, value: String, reason: String) {
    let line = "\(setting.variable) is \"\(value)\" (from the environment): \(reason)"
    #expect(refusal(environment: [setting.variable: value]) == line)
  }

  @Test func fewerWorkersAtMostThanAtLeastAreRefused() {
    let line = "FANMILL_AUTOSCALING_MOST is \"3\" (from the environment): less than FANMILL_AUTOSCALING_LEAST, 4"
    #expect(refusal(environment: ["FANMILL_AUTOSCALING_LEAST": "4", "FANMILL_AUTOSCALING_MOST": "3"]) == line)
    #expect(refusal(environment: ["FANMILL_AUTOSCALING_LEAST": "21"])?.contains("FANMILL_AUTOSCALING_LEAST") == true)
  }

  @Test func theRefusalIsOneLineWhateverTheValueHolds() {
    let line = "FANMILL_SHUTDOWN_TIMEOUT is \"a b\" (from the environment): \(Self.notATime)"
    #expect(refusal(environment: ["FANMILL_SHUTDOWN_TIMEOUT": "a\nb"]) == line)
    #expect(refusal(environment: ["FANMILL_API_PORT": String(repeating: "x", count: 5000)])?.count ?? 0 < 200)
  }

  @Test func aSecretIsRefusedWithoutBeingShown() {
    let line = "FANMILL_ADMIN_TOKEN (from the environment): 4 characters are too few: use at least 16"
    #expect(refusal(environment: ["FANMILL_ADMIN_TOKEN": "tiny"]) == line)
    let secret = "FANMILL_ALARM_SECRET (from the environment): 4 characters are too few: use at least 16"
    #expect(refusal(environment: ["FANMILL_ALARM_SECRET": "tiny"]) == secret)
    let webhook = "FANMILL_ALARM_WEBHOOK (from the environment): "
    for url in ["ftp://tok", "https://user:pass@h"] {
      #expect(refusal(environment: ["FANMILL_ALARM_WEBHOOK": url])?.hasPrefix(webhook + "not a URL") == true)
    }
    let twice = refusal(environment: [
      "FANMILL_ADMIN_TOKEN": "the-same-token-twice", "FANMILL_ADMIN_READ_TOKEN": "the-same-token-twice",
    ])
    #expect(twice?.contains("the same as FANMILL_ADMIN_TOKEN") == true && twice?.contains("the-same-token") == false)
    #expect(refusal(environment: ["FANMILL_ADMIN_URL": "ops.example.org"])?.contains("https://") == true)
    let key = "FANMILL_CERTIFICATE_KEY (from the environment): 4 characters are too few: use at least 32"
    #expect(refusal(environment: ["FANMILL_CERTIFICATE_KEY": "tiny"]) == key)
    let mail = "FANMILL_MAIL_URL (from the environment): not a URL that begins with smtp:// or smtps://"
    #expect(refusal(environment: ["FANMILL_MAIL_URL": "http://u:p@h"]) == mail)
    let media = "FANMILL_MEDIA_URL (from the environment): only region= and style= may follow the ?"
    #expect(refusal(environment: ["FANMILL_MEDIA_URL": "s3+https://k:the-secret@h/abc?token=1"]) == media)
  }

  @Test(arguments: [".env.example", "deploy/kubernetes/secret.yaml.example"])
  func noSecretOfAnExampleFileIsAccepted(file: String) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
    var refused: Set<String> = []
    for line in text.split(separator: "\n") {
      let plain = line.trimmingPrefix(/[#\s]*/)
      guard let match = plain.wholeMatch(of: /(FANMILL_[A-Z_]+)(?:=|: )(.+)/),
        let setting = Setting.all.first(where: { $0.variable == match.1 }), setting.isSecret, match.2 != "\"\""
      else { continue }
      let line = refusal(environment: [setting.variable: String(match.2)])
      if [.alarmWebhook, .otlpURL].contains(setting), line == nil { continue }
      #expect(
        line?.hasPrefix("\(setting.variable) (from the environment): a public example value") == true, "\(plain)")
      refused.insert(setting.variable)
    }
    #expect(refused.isSuperset(of: ["FANMILL_ADMIN_TOKEN", "FANMILL_CERTIFICATE_KEY"]))
  }

  @Test(arguments: [
    (Setting.adminToken, "change-me-admin-token"), (.adminReadToken, "Change-Me-admin-token"),
    (.adminReadToken, "who has it may look at the dashboard and change nothing"),
    (.certificateKey, "32 characters or more, with which fans' certificates are signed"),
    (.alarmSecret, "16 characters or more, with which messages to the webhook are signed"),
    (.postgresURL, "postgres://fanmill:change-me-postgres@postgres:5432/fanmill"),
    (.redisURL, "redis://:password@localhost:6379/0"), (.youtubeKeys, "mine,key-two"),
  ])
  func whatEverybodyCanReadIsNoSecret(setting: Setting, value: String) throws {
    let line = refusal(environment: [setting.variable: value])
    #expect(line == "\(setting.variable) (from the environment): \(ExampleValue.reason)")
    let json = setting == .youtubeKeys ? Self.array(value) : Self.quoted(value)
    let nested = setting.components.reversed().reduce(json) { "{\"\($1)\": \($0)}" }
    try withFile(nested) { file in
      let line = refusal(environment: ["FANMILL_CONFIG": file])
      #expect(line?.hasSuffix(ExampleValue.reason) == true && line?.contains(value) == false)
    }
  }

  @Test func aMailServerNeedsWhomMailIsFromAndWhereItLeads() throws {
    #expect(try Settings.read(environment: ["FANMILL_MAIL_FROM": "a@b"]).mail() == nil)
    var environment = ["FANMILL_MAIL_URL": "smtp://user:pass@h"]
    for (name, value) in [("FANMILL_MAIL_FROM", "a@b"), ("FANMILL_PASSWORD_RESET_URL", "https://a/{token}")] {
      let error = #expect(throws: SettingsError.self) { try Settings.read(environment: environment).mail() }
      #expect(error?.description.hasPrefix("\(name) is not set") == true)
      environment[name] = value
    }
    let mail = try #require(try Settings.read(environment: environment).mail())
    guard case .server(let server) = mail.destination else { return #expect(Bool(false), "\(mail.destination)") }
    #expect(server.name == "smtp://h:587" && mail.from.text == "a@b" && mail.confirmationLink == nil)
  }

  @Test func aFolderForMailNeedsNothingElse() throws {
    let mail = try #require(try Settings.read(environment: ["FANMILL_MAIL_URL": "file:/tmp/mail"]).mail())
    guard case .folder("/tmp/mail") = mail.destination else { return #expect(Bool(false), "\(mail.destination)") }
    let reason = "file: needs the absolute path of a folder, such as file:/tmp/mail"
    for url in ["file:mail", "file://host/mail"] {
      #expect(refusal(environment: ["FANMILL_MAIL_URL": url]) == "FANMILL_MAIL_URL (from the environment): \(reason)")
    }
  }

  @Test func signUpsAreNotConfirmedWithoutMail() throws {
    let error = #expect(throws: SettingsError.self) {
      try Settings.read(environment: ["FANMILL_SIGNUP_CONFIRMATION": "on"]).mail()
    }
    #expect(error?.description.hasPrefix("FANMILL_MAIL_URL is not set") == true)
  }

  @Test func picturesAreInTheBucketIfThereIsOneElseInTheFolder() throws {
    let loop = EventLoop(name: "settings-test")
    defer { loop.stop() }
    let folder = try Settings.read(environment: ["FANMILL_MEDIA_DIR": "/a/b"]).mediaStore { _ in
      throw CancellationError()
    }
    #expect(folder is MediaFolder)
    let environment = ["FANMILL_MEDIA_DIR": "/a/b", "FANMILL_MEDIA_URL": "s3+https://k:s@h/abc"]
    let bucket = try Settings.read(environment: environment).mediaStore { configuration in
      #expect(configuration.maximumRedirects == 0)
      return try HTTPClient(configuration: configuration, loop: loop, logger: .quiet)
    }
    #expect(bucket is S3Store)
    var settings = Settings()
    settings.mediaURL = Secret("s3+https://k:s@h")
    let error = #expect(throws: SettingsError.self) { try settings.mediaStore { _ in throw CancellationError() } }
    #expect(error?.description.contains("/BUCKET") == true)
  }

  @Test func aMissingFileIsRefused() {
    let line = "settings file /nowhere/f.json: no such file"
    #expect(refusal(environment: ["FANMILL_CONFIG": "/nowhere/f.json"]) == line)
  }

  @Test func theRefusalSaysWhereTheValueStood() throws {
    #expect(
      refusal(flags: [.apiPort: "x"])
        == "FANMILL_API_PORT is \"x\" (from the flag --api-port): not a whole number from 0 to 65535")
    try withFile(#"{"api": {"port": "x"}}"#) { file in
      #expect(
        refusal(environment: ["FANMILL_CONFIG": file])
          == "FANMILL_API_PORT is \"x\" (from api.port in \(file)): not a whole number from 0 to 65535")
    }
    try withFile(#"{"log": {"level": 3}}"#) { file in
      #expect(
        refusal(environment: ["FANMILL_CONFIG": file])
          == "FANMILL_LOG_LEVEL is \"3.0\" (from log.level in \(file)): not a string")
    }
  }

  @Test(arguments: [
    (#"{"worker": {"prot": 1}}"#, "unknown key \"worker.prot\"; did you mean \"worker.port\"?"),
    (#"{"postgers": {"url": "x"}}"#, "unknown key \"postgers.url\"; did you mean \"postgres.url\"?"),
    (#"{"api": 1}"#, "unknown key \"api\"; did you mean \"web\"?"),
    (#"[1]"#, "not a JSON object, such as {\"worker\": {\"port\": 9090}}"),
    (#"{"api": {"port": [1, "a"]}}"#, "every value must be a string, a number or an array of strings"),
  ])
  func aFileWithAnythingElseIsRefused(json: String, reason: String) throws {
    try withFile(json) { file in
      #expect(refusal(environment: ["FANMILL_CONFIG": file]) == "settings file \(file): \(reason)")
    }
  }

  @Test func aFileThatIsNoJSONIsRefusedWithThePlace() throws {
    try withFile("{\n  \"api\": {\"port\": 1,,}\n}") { file in
      let line = "settings file \(file): not a JSON document, see line 2"
      #expect(refusal(environment: ["FANMILL_CONFIG": file]) == line)
    }
  }

  @Test func aMissingSettingIsNamedWithAllItsNames() {
    #expect(
      refusal(requiring: [.redisURL]) == """
        FANMILL_REDIS_URL is not set: give the environment variable, the flag --redis-url or redis.url in the settings \
        file, for example redis://:password@localhost:6379/0
        """)
    #expect(refusal(environment: ["FANMILL_REDIS_URL": "redis://x"], requiring: [.redisURL]) == nil)
  }

  @Test func applesRootIsReadInBothForms() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "root-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    for (form, name) in [("PEM", "root.pem"), ("DER", "root.der")] {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/openssl")
      process.arguments = [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key",
        "-subj", "/CN=root", "-outform", form, "-out", name,
      ]
      process.currentDirectoryURL = folder
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
    }
    func rules(_ root: String, _ more: [String: String] = [:]) throws -> PurchaseRules {
      let all = [
        "FANMILL_STOREKIT_ROOT": root, "FANMILL_STOREKIT_BUNDLE": "org.example", "FANMILL_STOREKIT_PRODUCTS": "two=2",
      ]
      return try Settings.read(environment: all.merging(more) { $1 }).purchaseRules()
    }
    for name in ["root.pem", "root.der"] {
      let storeKit = try #require(try rules(folder.appending(path: name).path).storeKit)
      #expect(storeKit.bundle == "org.example" && storeKit.products == ["two": 2] && !storeKit.acceptsSandbox)
      #expect(storeKit.root.first == 0x30)
    }
    #expect(try Settings.read(environment: [:]).purchaseRules().storeKit == nil)
    for (root, more, part) in [
      ("/nowhere", [:], "FANMILL_STOREKIT_ROOT (from the environment): the certificate cannot be read"),
      (folder.appending(path: "key").path, [:], "FANMILL_STOREKIT_ROOT (from the environment): the certificate cannot"),
      (folder.appending(path: "root.pem").path, ["FANMILL_STOREKIT_BUNDLE": ""], "FANMILL_STOREKIT_BUNDLE is not set"),
      (folder.appending(path: "root.pem").path, ["FANMILL_STOREKIT_PRODUCTS": ""], "FANMILL_STOREKIT_PRODUCTS is not"),
      ("/r", ["FANMILL_STOREKIT_PRODUCTS": "two"], "use a product's id, '=' and 1 to 1000 places"),
      ("/r", ["FANMILL_STOREKIT_PRODUCTS": "two=1001"], "use a product's id, '=' and 1 to 1000 places"),
    ] as [(String, [String: String], String)] {
      let refusal = #expect(throws: SettingsError.self) { try rules(root, more) }
      #expect(refusal?.description.contains(part) == true, "\(refusal?.description ?? "")")
    }
  }

  @Test func secretsAreNeverShown() throws {
    let settings = try Settings.read(environment: [
      "FANMILL_POSTGRES_URL": "postgres://u:p%40ss-word@h/d", "FANMILL_REDIS_URL": "redis://:redis#pass@h",
      "FANMILL_ADMIN_TOKEN": "a-token-of-sixteen-or-more", "FANMILL_YOUTUBE_KEYS": "first-key,second-key",
      "FANMILL_CERTIFICATE_KEY": "certificates-are-signed-with-this",
      "FANMILL_PURCHASE_KEY": "notices-are-signed-with-this-here",
      "FANMILL_ADMIN_READ_TOKEN": "reading-of-sixteen-alone", "FANMILL_MAIL_URL": "smtp://u:mail%3Apass@h",
      "FANMILL_MEDIA_URL": "s3+https://key:media/pa%2Bss@h/abc",
    ])
    var dumped = ""
    dump(settings, to: &dumped)
    for text in ["\(settings)", String(reflecting: settings), dumped] {
      for secret in [
        "p%40ss-word", "redis#pass", "a-token", "first-key", "second-key", "signed-with-this", "reading-of",
        "mail%3Apass", "media/pa",
      ] {
        #expect(!text.contains(secret))
      }
    }
    let all: Set = [
      "p%40ss-word", "p@ss-word", "redis#pass", "a-token-of-sixteen-or-more", "first-key", "second-key",
      "certificates-are-signed-with-this", "notices-are-signed-with-this-here", "reading-of-sixteen-alone",
      "mail%3Apass", "mail:pass",
      "media/pa%2Bss", "media/pa+ss",
    ]
    #expect(Set(settings.secrets) == all)
    let refused = settings.refusal(of: .postgresURL, value: "postgres://u:p@h", because: "cannot read postgres://u:p@h")
    #expect(refused.description == "FANMILL_POSTGRES_URL (from the environment): not a usable value")
  }

  @Test func noSecretIsForgottenWhereTheyAreHidden() throws {
    let environment = Self.samples.map { ($0.setting.variable, $0.values[0]) }
    let settings = try Settings.read(environment: Dictionary(uniqueKeysWithValues: environment))
    var labels: [String] = []
    // Of the servers' URLs, which are secret as a whole, only the password is hidden.
    for (label, value) in Mirror(reflecting: settings).children where label?.hasSuffix("URL") == false {
      for secret in value as? [Secret] ?? [value as? Secret].compactMap(\.self) {
        #expect(settings.secrets.contains(secret.value), "\(label ?? "")")
        labels.append(label ?? "")
      }
    }
    #expect(Set(labels).count == 7, "\(labels)")
  }

  @Test func everyFlagReachesItsSetting() throws {
    let arguments = Self.samples.flatMap { ["--\($0.setting.flag)", $0.values[0]] }
    let options = try SettingsOptions.parse(arguments)
    #expect(options.flags == Dictionary(uniqueKeysWithValues: Self.samples.map { ($0.setting, $0.values[0]) }))
    #expect(throws: (any Error).self) { try SettingsOptions.parse(["--no-such-flag"]) }
    let unknown = #expect(throws: (any Error).self) { try SettingsOptions.parse(["--no-such-flag"]) }
    #expect(unknown.map { SettingsOptions.exitCode(for: $0) } == ExitStatus.usage)
  }

  @Test func flagsOfSettingsAreTakenFromAmongOthers() throws {
    let arguments = Self.samples.flatMap { ["--\($0.setting.flag)", $0.values[0]] }
    let all = try SettingsFlags(["jobs", "list"] + arguments + ["--json"])
    #expect(all.flags == Dictionary(uniqueKeysWithValues: Self.samples.map { ($0.setting, $0.values[0]) }))
    #expect(all.rest == ["jobs", "list", "--json"])

    let mixed = try SettingsFlags([
      "--host=", "jobs", "--config", "a=b.json", "--limit", "3", "--redis-url=unix:///a?b=c", "--host", "::1", "-v",
      "--", "--host", "x",
    ])
    #expect(mixed.flags == [.host: "::1", .redisURL: "unix:///a?b=c"])
    #expect(mixed.file == "a=b.json")
    #expect(mixed.rest == ["jobs", "--limit", "3", "-v", "--", "--host", "x"])

    for words in [["--redis-url"], ["--redis-url", "--json"], ["--config"]] {
      let error = #expect(throws: (any Error).self) { try SettingsFlags(words) }
      #expect(error.map { SettingsOptions.exitCode(for: $0) } == ExitStatus.usage)
      #expect(
        error.map { SettingsOptions.message(for: $0) } == "Missing value for '\(words[0]) <\(words[0].dropFirst(2))>'")
    }
  }

  private func refusal(
    flags: [Setting: String] = [:], environment: [String: String] = [:], requiring: [Setting] = []
  ) -> String? {
    do throws(SettingsError) {
      _ = try Settings.read(flags: flags, environment: environment, requiring: requiring)
      return nil
    } catch {
      return error.description
    }
  }

  private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "fanmill-\(UUID()).json").path
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }
}

struct URLPasswordTests {
  @Test(arguments: [
    ("redis://h:6379/0", []),
    ("redis://:pw@h", ["pw"]),
    ("postgres://u:a%20b@h/d?sslmode=require", ["a%20b", "a b"]),
    ("postgres://u:p@ss#w:rd@h/d", ["p@ss#w:rd"]),
    ("postgres:///d?host=/run&password=pw&user=u", ["pw"]),
    ("host=/run dbname=d password='pw' user=u", ["pw"]),
  ])
  func passwordsAreFound(url: String, spellings: [String]) {
    #expect(URLPassword.spellings(in: url) == spellings)
  }
}
