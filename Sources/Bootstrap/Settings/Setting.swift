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
    "postgres.url", "where Postgres is; several hosts are a primary and its standbys", isSecret: true,
    example: "postgres://user:password@localhost:5432/fanmill")
  public static let postgresReplicaURL = Setting(
    "postgres.replica.url", "where a read replica of it is, for reads that may be a second old", isSecret: true,
    example: "postgres://user:password@replica:5432/fanmill")
  public static let postgresPool = Setting(
    "postgres.pool",
    "how many connections to Postgres a process pools at most; if not set, a worker's follow from its concurrency",
    default: "10")
  public static let redisURL = Setting(
    "redis.url", "where Redis is: redis://, unix://, redis+sentinel:// or redis+cluster://", isSecret: true,
    example: "redis://:password@localhost:6379/0")
  public static let host = Setting(
    "host", "the address to listen on, for the API and for a worker's health and metrics", default: "0.0.0.0")
  public static let apiPort = Setting(
    "api.port", "the port of the API, 0 for any free one, which the log names", default: "8080")
  public static let requestTimeout = Setting(
    "request.timeout",
    "how long a request or a command may wait for a server that does not answer: then it is 503, or status 69",
    default: "5s")
  public static let httpHeadTimeout = Setting(
    "http.head.timeout", "how long the head of a request may take to arrive", default: "10s")
  public static let httpBodyTimeout = Setting(
    "http.body.timeout", "how long the body of a request may take to arrive", default: "30s")
  public static let httpIdleTimeout = Setting(
    "http.idle.timeout", "how long a connection may be idle, or its client read nothing of an answer", default: "75s")
  public static let httpConnections = Setting(
    "http.connections", "how many connections clients may have open in all", default: "10000")
  public static let httpClientConnections = Setting(
    "http.client.connections",
    "how many connections a client may have open, by its network address, 0 for no limit of its own", default: "256")
  public static let workerPort = Setting(
    "worker.port", "the port of a worker's health and metrics, 0 for none", default: "9090")
  public static let workerConcurrency = Setting(
    "worker.concurrency",
    "how many jobs of a queue a worker runs at once at most; if not set, no more than there are connections for",
    default: "16")
  public static let queues = Setting(
    "queues", "the queues a worker serves, each with its own limit if one is named; all if not set",
    example: "fanout,fanout-bulk:2")
  public static let scheduler = Setting(
    "scheduler", "whether a worker takes part in firing the schedules: on or off", default: "on")
  public static let jobsPayloadLimit = Setting(
    "jobs.payload.limit", "how many bytes the payload of a job may have when it comes in", default: "1048576")
  public static let feedDays = Setting(
    "feed.days",
    "how many days of posts the feeds' rows hold, 0 for all; older pages are put together as they are read",
    default: "90")
  public static let feedMostPushed = Setting(
    "feed.most.pushed",
    """
    how many followers an author has at most whose posts are written into each feed; those of others are looked up \
    when a feed is read
    """,
    default: "1000000")
  public static let feedSleepDays = Setting(
    "feed.sleep.days",
    """
    after how many days without reading a feed it is kept no longer, and made again when its reader comes back; 0 for \
    never
    """,
    default: "0")
  public static let youtubeURL = Setting(
    "youtube.url", "where the YouTube Data API is: the server, or the whole way to its /youtube/v3",
    default: "https://www.googleapis.com")
  public static let youtubeKeys = Setting(
    "youtube.keys", "keys of the YouTube Data API, used in turn; without one no channel is looked up", isSecret: true,
    example: "key-one,key-two")
  public static let youtubeSearches = Setting(
    "youtube.searches", "how many searches a key may make in a day of Pacific time", default: "100")
  public static let youtubeUnits = Setting(
    "youtube.units", "how many units a key may spend in a day of Pacific time on everything else", default: "10000")
  public static let youtubeSearchUnits = Setting(
    "youtube.search.units",
    "what a search costs in units where searches have no budget of their own; 0 where they have", default: "0")
  public static let youtubeAccountPercent = Setting(
    "youtube.account.percent",
    "how much of a day's budgets, of all keys together, the lookups of one account may use, in percent", default: "10")
  public static let youtubeFreshHours = Setting(
    "youtube.fresh.hours", "for how many hours an answer is given without asking again", default: "24")
  public static let youtubeRefreshDays = Setting(
    "youtube.refresh.days", "the age in days at which a channel that is kept is asked for again", default: "25")
  public static let youtubeKeepDays = Setting(
    "youtube.keep.days", "the age in days at which a channel that could not be asked for again is deleted",
    default: "30")
  public static let adminToken = Setting(
    "admin.token",
    "the token that lets a client enqueue jobs and opens the dashboard, 16 characters or more; without it nobody can",
    isSecret: true)
  public static let adminReadToken = Setting(
    "admin.read.token",
    "the token that lets its bearer read the dashboard, jobs and autoscaling and change nothing, 16 characters or more",
    isSecret: true)
  public static let adminPort = Setting(
    "admin.port",
    """
    the port of the dashboard, the metrics, jobs and autoscaling, 0 for any free one, which the log names; if not set, \
    the API's port has them
    """,
    example: "8081")
  public static let adminURL = Setting(
    "admin.url",
    "where browsers find the API if TLS ends in front of it: the dashboard's cookies then travel over TLS alone",
    example: "https://ops.example.org")
  public static let trustedProxies = Setting(
    "trusted.proxies",
    "the addresses and networks of proxies whose X-Forwarded-For says where a request comes from; none if not set",
    example: "10.0.0.0/8,192.0.2.7")
  public static let limits = Setting(
    "limits", "whether accounts and clients have budgets by the hour: on, or off for demos and benchmarks",
    default: "on")
  public static let limitPosts = Setting(
    "limit.posts", "how many posts an account makes in an hour at most, 0 for any number", default: "60")
  public static let limitFollows = Setting(
    "limit.follows", "how many accounts an account follows in an hour at most, 0 for any number", default: "300")
  public static let limitLikes = Setting(
    "limit.likes", "how many posts an account likes in an hour at most, 0 for any number", default: "1000")
  public static let limitComments = Setting(
    "limit.comments", "how many comments an account makes in an hour at most, 0 for any number", default: "300")
  public static let limitLookups = Setting(
    "limit.lookups", "how many lookups an account begins in an hour at most, 0 for any number", default: "30")
  public static let limitSignUps = Setting(
    "limit.sign.ups", "how many accounts are opened from a network address in an hour at most, 0 for any number",
    default: "20")
  public static let limitUploads = Setting(
    "limit.uploads", "how many pictures an account uploads in an hour at most, 0 for any number", default: "100")
  public static let limitUploadTokens = Setting(
    "limit.upload.tokens",
    "how many tokens for a picture before sign-up a network address asks for in an hour at most, 0 for any number",
    default: "20")
  public static let celebLimit = Setting(
    "celeb.limit", "how many celebs an account registers at most that has no limit of its own", default: "3")
  public static let certificateKey = Setting(
    "certificate.key",
    """
    what seals the keys that sign certificates and receipts, and the backups of agreements, 32 characters or more; \
    without it there are none of them
    """,
    isSecret: true)
  public static let agreements = Setting(
    "agreements", "whether two can meet and seal agreements, which needs certificate.key too: on or off", default: "on")
  public static let adultStatement = Setting(
    "adult.statement", "whether sign-up asks for the statement to be an adult: on or off", default: "off")
  public static let publicURL = Setting(
    "public.url", "where people reach the API: what certificates' QR codes lead to",
    default: "http://localhost:8080")
  public static let purchaseKey = Setting(
    "purchase.key",
    "what notices of purchases in the generic form are signed with, 32 characters or more; without it none is taken",
    isSecret: true)
  public static let storeKitRoot = Setting(
    "storekit.root",
    """
    the file, in PEM or DER, of the root certificate that Apple's notices of purchases lead to: Apple Root CA - G3; \
    without it none is taken
    """,
    example: "/etc/fanmill/AppleRootCA-G3.cer")
  public static let storeKitBundle = Setting(
    "storekit.bundle", "the bundle id of the app that things are bought in", example: "org.example.fans")
  public static let storeKitProducts = Setting(
    "storekit.products", "how many more celebs each product of the App Store brings",
    example: "org.example.fans.two=2,org.example.fans.five=5")
  public static let storeKitSandbox = Setting(
    "storekit.sandbox", "whether purchases of testers count, which cost nothing: on or off", default: "off")
  public static let mailURL = Setting(
    "mail.url",
    """
    the server that mail is handed to: smtp://, which is encrypted by STARTTLS, or smtps://; file:DIR, for development, \
    has each mail written into a folder; without it no mail is sent
    """,
    isSecret: true, example: "smtp://user:password@mail.example.org:587")
  public static let mailFrom = Setting(
    "mail.from", "the address that mail comes from; needed with a mail server, no-reply@localhost with file:",
    example: "no-reply@example.org")
  public static let passwordResetURL = Setting(
    "password.reset.url",
    """
    the page of the app where a new password is chosen, as mail names it, with {token} where the token goes; needed \
    with a mail server, http://localhost/reset?token={token} with file:
    """,
    example: "https://app.example.org/reset?token={token}")
  public static let emailConfirmationURL = Setting(
    "email.confirmation.url",
    """
    the page of the app where an email address is confirmed, as mail names it, with {token} where the token goes; \
    without it mail has the token itself
    """,
    example: "https://app.example.org/confirm?token={token}")
  public static let accountDeletionURL = Setting(
    "account.deletion.url",
    """
    the page of the app where an owner without a password deletes the account, as mail names it, with {token} where the \
    token goes; without it mail has the token itself
    """,
    example: "https://app.example.org/delete?token={token}")
  public static let signUpConfirmation = Setting(
    "signup.confirmation",
    "whether who signs up confirms the address by mail before signing in: on or off; needs mail.url", default: "off")
  public static let mediaDir = Setting(
    "media.dir", "the folder that pictures are stored in, which API and workers share",
    default: "/var/lib/fanmill/media")
  public static let mediaURL = Setting(
    "media.url",
    """
    the bucket that pictures are stored in instead of a folder: s3+https://, or s3+http:// in a private network, with \
    region= and style=path or style=virtual behind the ?
    """,
    isSecret: true, example: "s3+https://key:secret@s3.example.org/fanmill?region=us-east-1")
  public static let mediaQuota = Setting(
    "media.quota", "how many megabytes an account's pictures take up at most, as they were uploaded", default: "1000")
  public static let mediaUploadRate = Setting(
    "media.upload.rate",
    "how many megabytes of uploads an API writes in a second at most; what comes faster waits",
    default: "20")
  public static let mediaControlGroup = Setting(
    "media.control.group",
    "the control group that pictures are decoded in: without one they are at a low priority, beside everything else",
    example: "/sys/fs/cgroup/pictures")
  public static let rankingTimeZone = Setting(
    "ranking.time.zone", "where the rankings' days end at midnight, by its IANA name", default: "Asia/Seoul")
  public static let rankingDepth = Setting(
    "ranking.depth", "how many celebs a ranking lists at most, up to 100000", default: "10000")
  public static let rankingHistory = Setting(
    "ranking.history", "how many days the rankings' snapshots are kept", default: "7")
  public static let rankingPoints = Setting(
    "ranking.points", "how many days it is kept where each celeb stood at the end of the day", default: "365")
  public static let endedDays = Setting(
    "ended.days",
    "how many days records are kept of jobs that were cancelled, deleted, or done after they had failed",
    default: "7")
  public static let deadDays = Setting(
    "dead.days", "how many days dead letters are kept", default: "90")
  public static let deadLimit = Setting(
    "dead.limit", "how many dead letters are kept at most; the oldest go first", default: "100000")
  public static let actionsDays = Setting(
    "actions.days", "how many days the operators' actions are kept", default: "365")
  public static let actionsLimit = Setting(
    "actions.limit", "how many of the operators' actions are kept at most; the oldest go first", default: "100000")
  public static let alarms = Setting(
    "alarms",
    "how long the oldest job of a queue may wait and run before an alarm is given; * is every queue that is not named",
    default: AlarmLimits.app.text)
  public static let alarmWebhook = Setting(
    "alarm.webhook",
    "where alarms are told, a POST of JSON for each and one when it is over; without it they are logged",
    isSecret: true, example: "https://alerts.example.org/fanmill")
  public static let alarmSecret = Setting(
    "alarm.secret",
    "what the messages to the alarm webhook are signed with, 16 characters or more; without it they are not",
    isSecret: true)
  public static let otlpURL = Setting(
    "otlp.url",
    "the OpenTelemetry collector that gets spans, by OTLP over HTTP; if unset, none are made",
    isSecret: true, example: "http://collector:4318")
  public static let autoscalingLeast = Setting(
    "autoscaling.least", "how many workers a queue is said to need at least", default: "1")
  public static let autoscalingMost = Setting(
    "autoscaling.most", "how many workers a queue is said to need at most", default: "20")
  public static let logLevel = Setting(
    "log.level", "the least severe event that is logged", default: "info")
  public static let logFormat = Setting(
    "log.format", "how an event is written: text or json", default: "text")
  public static let shutdownTimeout = Setting(
    "shutdown.timeout", "how long a process that is asked to stop may take to finish what it began", default: "30s")

  /// All settings, in the documentation's order.
  public static let all: [Setting] = [
    postgresURL, postgresReplicaURL, postgresPool, redisURL, host, apiPort, requestTimeout, httpHeadTimeout,
    httpBodyTimeout, httpIdleTimeout, httpConnections, httpClientConnections, workerPort, workerConcurrency, queues,
    scheduler, jobsPayloadLimit, feedDays, feedMostPushed, feedSleepDays,
    youtubeURL, youtubeKeys, youtubeSearches, youtubeUnits, youtubeSearchUnits, youtubeAccountPercent,
    youtubeFreshHours, youtubeRefreshDays, youtubeKeepDays, adminToken, adminReadToken, adminPort, adminURL,
    trustedProxies, limits, limitPosts, limitFollows, limitLikes, limitComments, limitLookups, limitSignUps,
    limitUploads, limitUploadTokens, celebLimit, certificateKey, agreements, adultStatement, publicURL,
    purchaseKey, storeKitRoot,
    storeKitBundle, storeKitProducts, storeKitSandbox, mailURL, mailFrom, passwordResetURL,
    emailConfirmationURL, accountDeletionURL, signUpConfirmation, mediaDir, mediaURL, mediaQuota,
    mediaUploadRate, mediaControlGroup, rankingTimeZone, rankingDepth, rankingHistory, rankingPoints,
    endedDays, deadDays, deadLimit,
    actionsDays, actionsLimit, alarms, alarmWebhook, alarmSecret, otlpURL, autoscalingLeast, autoscalingMost,
    logLevel, logFormat, shutdownTimeout,
  ]
}
