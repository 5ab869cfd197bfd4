import DurableJobsAdmin
import SocialAdmin

/// A setting and its names on the command line, in the environment and in the file.
///
/// All names derive from the path: `worker.port` is the flag `--worker-port`, the variable `FANMILL_WORKER_PORT` and,
/// in the file, `{"worker": {"port": …}}`.
public struct Setting: Sendable, Hashable {
  /// The path in the settings file, joined by dots.
  public let path: String
  /// Its effect, in a sentence without a full stop.
  public let summary: String
  /// The default in written form; nil if there is none.
  public let fallback: String?
  /// Whether its value must never be printed or logged.
  public let isSecret: Bool
  /// An example value, for the message that asks for one.
  public let example: String?
  /// For example `FANMILL_WORKER_PORT`.
  public let variable: String
  /// For example `worker-port`, without the leading hyphens.
  public let flag: String

  init(
    _ path: String, _ summary: String, default fallback: String? = nil, isSecret: Bool = false, example: String? = nil
  ) {
    self.path = path
    self.summary = summary
    self.fallback = fallback
    self.isSecret = isSecret
    self.example = example
    // Computed once: parsing scans a command's flags many times.
    variable = "FANMILL_" + path.replacing(".", with: "_").uppercased()
    flag = path.replacing(".", with: "-")
  }

  var components: [String] { path.split(separator: ".").map(String.init) }
}

extension Setting {
  public static let postgresURL = Setting(
    "postgres.url", "the URL of Postgres; several hosts are a primary and its standbys", isSecret: true,
    example: "postgres://user:password@localhost:5432/fanmill")
  public static let postgresReplicaURL = Setting(
    "postgres.replica.url", "the URL of a read replica, for reads that may be a second old", isSecret: true,
    example: "postgres://user:password@replica:5432/fanmill")
  public static let postgresPool = Setting(
    "postgres.pool",
    "the most Postgres connections a process pools; if unset, a worker derives them from its concurrency",
    default: "10")
  public static let redisURL = Setting(
    "redis.url", "the URL of Redis: redis://, unix://, redis+sentinel:// or redis+cluster://", isSecret: true,
    example: "redis://:password@localhost:6379/0")
  public static let host = Setting(
    "host", "the address to listen on, for the API and for a worker's health and metrics", default: "0.0.0.0")
  public static let apiPort = Setting(
    "api.port", "the API's port; 0 picks a free one, which the log names", default: "8080")
  public static let requestTimeout = Setting(
    "request.timeout",
    "how long a request or a command waits for an unresponsive server before failing with 503, or exit status 69",
    default: "5s")
  public static let httpHeadTimeout = Setting(
    "http.head.timeout", "how long a request's head may take to arrive", default: "10s")
  public static let httpBodyTimeout = Setting(
    "http.body.timeout", "how long a request's body may take to arrive", default: "30s")
  public static let httpIdleTimeout = Setting(
    "http.idle.timeout", "how long a connection may be idle, or its client leave a response unread", default: "75s")
  public static let httpConnections = Setting(
    "http.connections", "the most connections that clients may have open in total", default: "10000")
  public static let httpClientConnections = Setting(
    "http.client.connections",
    "the most connections that one client network address may have open; 0 for no such limit", default: "256")
  public static let workerPort = Setting(
    "worker.port", "the port of a worker's health and metrics; 0 for none", default: "9090")
  public static let workerConcurrency = Setting(
    "worker.concurrency",
    "the most jobs of a queue that a worker runs at once; if unset, no more than its connections allow",
    default: "16")
  public static let queues = Setting(
    "queues", "the queues a worker serves, each with an optional concurrency limit; if unset, all",
    example: "fanout,fanout-bulk:2")
  public static let scheduler = Setting(
    "scheduler", "whether a worker takes turns firing the schedules: on or off", default: "on")
  public static let jobsPayloadLimit = Setting(
    "jobs.payload.limit", "the most bytes that an incoming job's payload may have", default: "1048576")
  public static let feedDays = Setting(
    "feed.days",
    "how many days of posts are stored as feed rows, 0 for all; older pages are assembled when they are read",
    default: "90")
  public static let feedPushLimit = Setting(
    "feed.most.pushed",
    """
    the most followers an author may have whose posts are written into each feed; other authors' posts are added when \
    a feed is read
    """,
    default: "1000000")
  public static let feedSleepDays = Setting(
    "feed.sleep.days",
    """
    days without a read after which a feed is dropped; it is rebuilt when its reader returns; 0 for never
    """,
    default: "0")
  public static let youtubeURL = Setting(
    "youtube.url", "the YouTube Data API's URL: the server, or the full path to /youtube/v3",
    default: "https://www.googleapis.com")
  public static let youtubeKeys = Setting(
    "youtube.keys", "the YouTube Data API keys, used in turn; if unset, no channel is looked up", isSecret: true,
    example: "key-one,key-two")
  public static let youtubeSearches = Setting(
    "youtube.searches", "how many searches a key may make per day of Pacific time", default: "100")
  public static let youtubeUnits = Setting(
    "youtube.units", "how many units a key may spend per day of Pacific time on everything else", default: "10000")
  public static let youtubeSearchUnits = Setting(
    "youtube.search.units",
    "the units a search costs if searches share the unit budget; 0 if they have a separate budget", default: "0")
  public static let youtubeAccountPercent = Setting(
    "youtube.account.percent",
    "the percentage of all keys' daily budgets that one account's lookups may use", default: "10")
  public static let youtubeFreshHours = Setting(
    "youtube.fresh.hours", "how many hours a stored answer is used without asking YouTube again", default: "24")
  public static let youtubeRefreshDays = Setting(
    "youtube.refresh.days", "the age in days at which a stored channel is refreshed", default: "25")
  public static let youtubeKeepDays = Setting(
    "youtube.keep.days", "the age in days at which a channel that could not be refreshed is deleted",
    default: "30")
  public static let adminToken = Setting(
    "admin.token",
    "the token for enqueueing jobs and opening the dashboard, 16 characters or more; if unset, both are disabled",
    isSecret: true)
  public static let adminReadToken = Setting(
    "admin.read.token",
    "the token for read-only access to the dashboard, jobs and autoscaling, 16 characters or more",
    isSecret: true)
  public static let adminPort = Setting(
    "admin.port",
    """
    the port of the dashboard, the metrics, jobs and autoscaling; 0 picks a free one, which the log names; if unset, \
    the API's port serves them
    """,
    example: "8081")
  public static let adminURL = Setting(
    "admin.url",
    "the URL browsers use if TLS ends in front of the API; the dashboard's cookies are then sent over TLS only",
    example: "https://ops.example.org")
  public static let trustedProxies = Setting(
    "trusted.proxies",
    "the addresses and networks of proxies whose X-Forwarded-For names a request's client; if unset, none",
    example: "10.0.0.0/8,192.0.2.7")
  public static let limits = Setting(
    "limits", "whether accounts and clients have hourly budgets: on, or off for demos and benchmarks",
    default: "on")
  public static let limitPosts = Setting(
    "limit.posts", "the most posts an account may make per hour; 0 for no limit", default: "60")
  public static let limitFollows = Setting(
    "limit.follows", "the most accounts an account may follow per hour; 0 for no limit", default: "300")
  public static let limitLikes = Setting(
    "limit.likes", "the most posts an account may like per hour; 0 for no limit", default: "1000")
  public static let limitComments = Setting(
    "limit.comments", "the most comments an account may make per hour; 0 for no limit", default: "300")
  public static let limitLookups = Setting(
    "limit.lookups", "the most lookups an account may start per hour; 0 for no limit", default: "30")
  public static let limitSignUps = Setting(
    "limit.sign.ups", "the most accounts that may be created from a network address per hour; 0 for no limit",
    default: "20")
  public static let limitUploads = Setting(
    "limit.uploads", "the most pictures an account may upload per hour; 0 for no limit", default: "100")
  public static let limitUploadTokens = Setting(
    "limit.upload.tokens",
    "the most tokens for a sign-up picture that a network address may request per hour; 0 for no limit",
    default: "20")
  public static let celebLimit = Setting(
    "celeb.limit", "the default limit of celebs per account", default: "3")
  public static let certificateKey = Setting(
    "certificate.key",
    """
    the key that encrypts the signing keys of certificates and receipts, the backups of agreements, and the secrets \
    of webhooks, 32 characters or more; without it these are disabled
    """,
    isSecret: true)
  public static let web = Setting(
    "web", "whether the API serves the web client at its root: on or off", default: "on")
  public static let agreements = Setting(
    "agreements", "whether two accounts can meet and seal agreements, which also needs certificate.key: on or off",
    default: "on")
  public static let webhooksPrivate = Setting(
    "webhooks.private",
    "whether webhooks may be sent to private addresses, and to http:// URLs: on or off", default: "off")
  public static let webhooksDays = Setting(
    "webhooks.days", "how many days webhooks' events and deliveries are kept, 1 to 90", default: "7")
  public static let adultStatement = Setting(
    "adult.statement", "whether sign-up requires users to state that they are adults: on or off", default: "off")
  public static let publicURL = Setting(
    "public.url", "the API's public URL, which certificates' QR codes lead to",
    default: "http://localhost:8080")
  public static let purchaseKey = Setting(
    "purchase.key",
    "the key that signs generic purchase notices, 32 characters or more; if unset, they are refused",
    isSecret: true)
  public static let storeKitRoot = Setting(
    "storekit.root",
    """
    the file, in PEM or DER, of the root certificate for Apple's purchase notices, Apple Root CA - G3; if unset, they \
    are refused
    """,
    example: "/etc/fanmill/AppleRootCA-G3.cer")
  public static let storeKitBundle = Setting(
    "storekit.bundle", "the bundle id of the app that sells the purchases", example: "org.example.fans")
  public static let storeKitProducts = Setting(
    "storekit.products", "how many more celebs each App Store product grants",
    example: "org.example.fans.two=2,org.example.fans.five=5")
  public static let storeKitSandbox = Setting(
    "storekit.sandbox", "whether testers' purchases, which are free, count: on or off", default: "off")
  public static let mailURL = Setting(
    "mail.url",
    """
    the mail server: smtp:// (encrypted with STARTTLS) or smtps://; file:DIR writes each mail into a folder, for \
    development; if unset, no mail is sent
    """,
    isSecret: true, example: "smtp://user:password@mail.example.org:587")
  public static let mailFrom = Setting(
    "mail.from", "the sender's address; required with a mail server, no-reply@localhost with file:",
    example: "no-reply@example.org")
  public static let passwordResetURL = Setting(
    "password.reset.url",
    """
    the app's page for choosing a new password, as linked from mail, with {token} where the token goes; required with \
    a mail server, http://localhost/reset?token={token} with file:
    """,
    example: "https://app.example.org/reset?token={token}")
  public static let emailConfirmationURL = Setting(
    "email.confirmation.url",
    """
    the app's page for confirming an email address, as linked from mail, with {token} where the token goes; if unset, \
    mail contains the token itself
    """,
    example: "https://app.example.org/confirm?token={token}")
  public static let accountDeletionURL = Setting(
    "account.deletion.url",
    """
    the app's page where an owner without a password deletes the account, as linked from mail, with {token} where the \
    token goes; if unset, mail contains the token itself
    """,
    example: "https://app.example.org/delete?token={token}")
  public static let signUpConfirmation = Setting(
    "signup.confirmation",
    "whether new accounts must confirm their address by mail before signing in: on or off; needs mail.url",
    default: "off")
  public static let mediaDir = Setting(
    "media.dir", "the folder for pictures, shared by API and workers",
    default: "/var/lib/fanmill/media")
  public static let mediaURL = Setting(
    "media.url",
    """
    the bucket for pictures, instead of a folder: s3+https://, or s3+http:// in a private network, with region= and \
    style=path or style=virtual after the ?
    """,
    isSecret: true, example: "s3+https://key:secret@s3.example.org/fanmill?region=us-east-1")
  public static let mediaQuota = Setting(
    "media.quota", "the most megabytes an account's pictures may take up, as uploaded", default: "1000")
  public static let mediaUploadRate = Setting(
    "media.upload.rate",
    "the most megabytes of uploads an API writes per second; faster uploads wait",
    default: "20")
  public static let mediaControlGroup = Setting(
    "media.control.group",
    "the control group in which pictures are decoded; if unset, decoding runs at low priority beside everything else",
    example: "/sys/fs/cgroup/pictures")
  public static let rankingTimeZone = Setting(
    "ranking.time.zone", "the time zone in which the rankings' days end at midnight, by its IANA name",
    default: "Asia/Seoul")
  public static let rankingDepth = Setting(
    "ranking.depth", "the most celebs a ranking lists, up to 100000", default: "10000")
  public static let rankingHistory = Setting(
    "ranking.history", "how many days ranking snapshots are kept", default: "7")
  public static let rankingPoints = Setting(
    "ranking.points", "how many days each celeb's end-of-day rank is kept", default: "365")
  public static let endedDays = Setting(
    "ended.days",
    "how many days records are kept of jobs that were cancelled, deleted, or done after a failure",
    default: "7")
  public static let deadDays = Setting(
    "dead.days", "how many days dead letters are kept", default: "90")
  public static let deadLimit = Setting(
    "dead.limit", "the most dead letters kept; the oldest are deleted first", default: "100000")
  public static let actionsDays = Setting(
    "actions.days", "how many days operators' actions are kept", default: "365")
  public static let actionsLimit = Setting(
    "actions.limit", "the most operators' actions kept; the oldest are deleted first", default: "100000")
  public static let alarms = Setting(
    "alarms",
    "how long a queue's oldest job may wait and run before an alarm starts; * is every queue not named",
    default: AlarmLimits.app.text)
  public static let alarmWebhook = Setting(
    "alarm.webhook",
    "the webhook for alarms, sent a JSON POST at the start and the end of each; if unset, alarms are only logged",
    isSecret: true, example: "https://alerts.example.org/fanmill")
  public static let alarmSecret = Setting(
    "alarm.secret",
    "the key that signs messages to the alarm webhook, 16 characters or more; if unset, they are not signed",
    isSecret: true)
  public static let otlpURL = Setting(
    "otlp.url",
    "the OpenTelemetry collector that gets spans, by OTLP over HTTP; if unset, none are made",
    isSecret: true, example: "http://collector:4318")
  public static let autoscalingMinimum = Setting(
    "autoscaling.least", "the minimum number of workers reported for a queue", default: "1")
  public static let autoscalingMaximum = Setting(
    "autoscaling.most", "the maximum number of workers reported for a queue", default: "20")
  public static let logLevel = Setting(
    "log.level", "the least severe event that is logged", default: "info")
  public static let logFormat = Setting(
    "log.format", "how events are written: text or json", default: "text")
  public static let shutdownTimeout = Setting(
    "shutdown.timeout", "how long a stopping process may take to finish running work", default: "30s")

  /// All settings, in the documentation's order.
  public static let all: [Setting] = [
    postgresURL, postgresReplicaURL, postgresPool, redisURL, host, apiPort, requestTimeout, httpHeadTimeout,
    httpBodyTimeout, httpIdleTimeout, httpConnections, httpClientConnections, workerPort, workerConcurrency, queues,
    scheduler, jobsPayloadLimit, feedDays, feedPushLimit, feedSleepDays,
    youtubeURL, youtubeKeys, youtubeSearches, youtubeUnits, youtubeSearchUnits, youtubeAccountPercent,
    youtubeFreshHours, youtubeRefreshDays, youtubeKeepDays, adminToken, adminReadToken, adminPort, adminURL,
    trustedProxies, limits, limitPosts, limitFollows, limitLikes, limitComments, limitLookups, limitSignUps,
    limitUploads, limitUploadTokens, celebLimit, certificateKey, webhooksPrivate, webhooksDays, web, agreements,
    adultStatement, publicURL, purchaseKey, storeKitRoot,
    storeKitBundle, storeKitProducts, storeKitSandbox, mailURL, mailFrom, passwordResetURL,
    emailConfirmationURL, accountDeletionURL, signUpConfirmation, mediaDir, mediaURL, mediaQuota,
    mediaUploadRate, mediaControlGroup, rankingTimeZone, rankingDepth, rankingHistory, rankingPoints,
    endedDays, deadDays, deadLimit,
    actionsDays, actionsLimit, alarms, alarmWebhook, alarmSecret, otlpURL, autoscalingMinimum, autoscalingMaximum,
    logLevel, logFormat, shutdownTimeout,
  ]
}
