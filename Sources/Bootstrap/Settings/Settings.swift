import DurableJobs
import DurableJobsAdmin
import Logging
import Social
import SocialAdmin

/// The configuration of a Fanmill process; the defaults work for a process that needs no server.
public struct Settings: Sendable {
  /// A queue that a worker serves.
  public struct Queue: Sendable, Hashable {
    public var name: QueueName
    /// The queue's concurrency per worker; nil for the worker's own limit.
    public var concurrency: Int?

    public init(name: QueueName, concurrency: Int? = nil) {
      self.name = name
      self.concurrency = concurrency
    }
  }

  public var postgresURL: Secret?
  /// nil sends all reads to the primary.
  public var postgresReplicaURL: Secret?
  public var postgresPool = 10
  public var redisURL: Secret?
  public var host = "0.0.0.0"
  /// 0 means any free port.
  public var apiPort = 8080
  /// How long a request may wait for the servers.
  public var requestTimeout = Duration.seconds(5)
  public var connectionLimits = ConnectionLimits()
  /// 0 means no health server.
  public var workerPort = 9090
  public var workerConcurrency = 16
  /// nil means every queue of the app.
  public var queues: [Queue]?
  /// Whether a worker takes part in running the schedules.
  public var scheduler = true
  /// In bytes.
  public var jobsPayloadLimit = PayloadLimit.standard
  /// 0 means all.
  public var feedDays = 90
  public var feedPushLimit = 1_000_000
  public var feedSleepDays = 0
  public var youtubeURL = "https://www.googleapis.com"
  public var youtubeKeys: [Secret] = []
  public var youtubeSearches = 100
  public var youtubeUnits = 10_000
  public var youtubeSearchUnits = 0
  public var youtubeAccountPercent = 10
  public var youtubeFreshHours = 24
  public var youtubeRefreshDays = 25
  public var youtubeKeepDays = 30
  public var adminToken: Secret?
  public var adminReadToken: Secret?
  /// nil means the API's port, 0 any free one.
  public var adminPort: Int?
  /// nil means without TLS, under any host name.
  public var adminURL: String?
  public var trustedProxies = TrustedProxies.none
  /// Whether request budgets apply.
  public var limits = true
  public var requestLimits = RequestLimits()
  public var celebLimit = 3
  public var certificateKey: Secret?
  /// Whether webhooks may lead to private addresses.
  public var webhooksPrivate = false
  public var webhooksDays = 7
  public var web = true
  public var agreements = true
  public var adultStatement = false
  /// Without a trailing slash.
  public var publicURL = "http://localhost:8080"
  public var purchaseKey: Secret?
  /// A file's path; nil refuses Apple's notices.
  public var storeKitRoot: String?
  public var storeKitBundle: String?
  /// The number of places per product.
  public var storeKitProducts: [String: Int] = [:]
  public var storeKitSandbox = false
  /// nil sends no mail.
  public var mailURL: Secret?
  public var mailFrom: String?
  public var passwordResetURL: String?
  /// nil puts the bare token into mails.
  public var emailConfirmationURL: String?
  /// nil puts the bare token into mails.
  public var accountDeletionURL: String?
  /// Whether sign-up requires confirming the address.
  public var signUpConfirmation = false
  public var mediaDir = "/var/lib/fanmill/media"
  /// nil stores pictures in the folder.
  public var mediaURL: Secret?
  /// In bytes.
  public var mediaQuota = 1_000_000_000
  /// Bytes per second.
  public var mediaUploadRate = 20_000_000
  /// The folder of the control group.
  public var mediaControlGroup: String?
  public var rankingTimeZone = "Asia/Seoul"
  public var rankingDepth = 10_000
  /// In days.
  public var rankingHistory = 7
  /// In days.
  public var rankingPoints = 365
  /// How many days records of ended jobs are kept.
  public var endedDays = 7
  public var deadDays = 90
  public var deadLimit = 100_000
  public var actionsDays = 365
  public var actionsLimit = 100_000
  public var alarms = AlarmLimits.app
  public var alarmWebhook: Secret?
  /// The collector of spans; nil for none.
  public var otlpURL: Secret?
  public var alarmSecret: Secret?
  public var autoscalingMinimum = 1
  public var autoscalingMaximum = 20
  public var logLevel = Logger.Level.info
  public var logFormat = LogFormat.text
  public var shutdownTimeout = Duration.seconds(30)

  /// The source of each value, for messages about it.
  var sources: [Setting: SettingsSource] = [:]

  public init() {}

  /// Whether it was set explicitly.
  public func isSet(_ setting: Setting) -> Bool { sources[setting] != nil }

  /// Strings that must not appear in any output: passwords, tokens and keys, and the passwords in URLs.
  public var secrets: [String] {
    var secrets = youtubeKeys.map(\.value)
    if let adminToken { secrets.append(adminToken.value) }
    if let adminReadToken { secrets.append(adminReadToken.value) }
    if let certificateKey { secrets.append(certificateKey.value) }
    if let purchaseKey { secrets.append(purchaseKey.value) }
    for secret in [alarmWebhook, alarmSecret, otlpURL].compactMap(\.self) { secrets.append(secret.value) }
    for url in [postgresURL, postgresReplicaURL, redisURL, mailURL, mediaURL].compactMap(\.self) {
      secrets.append(contentsOf: URLPassword.spellings(in: url.value))
    }
    return secrets.filter { !$0.isEmpty }
  }

  /// The error for a value that only its user can judge, such as a URL that a server rejects.
  ///
  /// - Parameter value: omitted if the reason does not come from parsing it.
  public func refusal(of setting: Setting, value: String? = nil, because reason: String) -> SettingsError {
    .invalid(setting, value, from: sources[setting] ?? .fallback, reason)
  }
}
