import ArgumentParser

/// The flags of every Fanmill program, one per setting.
public struct SettingsOptions: ParsableArguments, GivenSettings {
  @Option(name: .customLong("config"), help: "A settings file in JSON; also FANMILL_CONFIG.")
  public var file: String?

  @Option(name: Setting.postgresURL.flagName, help: Setting.postgresURL.help) var postgresURL: String?
  @Option(name: Setting.postgresReplicaURL.flagName, help: Setting.postgresReplicaURL.help)
  var postgresReplicaURL: String?
  @Option(name: Setting.postgresPool.flagName, help: Setting.postgresPool.help) var postgresPool: String?
  @Option(name: Setting.redisURL.flagName, help: Setting.redisURL.help) var redisURL: String?
  @Option(name: Setting.host.flagName, help: Setting.host.help) var host: String?
  @Option(name: Setting.apiPort.flagName, help: Setting.apiPort.help) var apiPort: String?
  @Option(name: Setting.requestTimeout.flagName, help: Setting.requestTimeout.help) var requestTimeout: String?
  @Option(name: Setting.httpHeadTimeout.flagName, help: Setting.httpHeadTimeout.help) var httpHeadTimeout: String?
  @Option(name: Setting.httpBodyTimeout.flagName, help: Setting.httpBodyTimeout.help) var httpBodyTimeout: String?
  @Option(name: Setting.httpIdleTimeout.flagName, help: Setting.httpIdleTimeout.help) var httpIdleTimeout: String?
  @Option(name: Setting.httpConnections.flagName, help: Setting.httpConnections.help) var httpConnections: String?
  @Option(name: Setting.httpClientConnections.flagName, help: Setting.httpClientConnections.help)
  var httpClientConnections: String?
  @Option(name: Setting.workerPort.flagName, help: Setting.workerPort.help) var workerPort: String?
  @Option(name: Setting.workerConcurrency.flagName, help: Setting.workerConcurrency.help)
  var workerConcurrency: String?
  @Option(name: Setting.queues.flagName, help: Setting.queues.help) var queues: String?
  @Option(name: Setting.scheduler.flagName, help: Setting.scheduler.help) var scheduler: String?
  @Option(name: Setting.jobsPayloadLimit.flagName, help: Setting.jobsPayloadLimit.help) var jobsPayloadLimit: String?
  @Option(name: Setting.feedDays.flagName, help: Setting.feedDays.help) var feedDays: String?
  @Option(name: Setting.feedPushLimit.flagName, help: Setting.feedPushLimit.help) var feedPushLimit: String?
  @Option(name: Setting.feedSleepDays.flagName, help: Setting.feedSleepDays.help) var feedSleepDays: String?
  @Option(name: Setting.youtubeURL.flagName, help: Setting.youtubeURL.help) var youtubeURL: String?
  @Option(name: Setting.youtubeKeys.flagName, help: Setting.youtubeKeys.help) var youtubeKeys: String?
  @Option(name: Setting.youtubeSearches.flagName, help: Setting.youtubeSearches.help) var youtubeSearches: String?
  @Option(name: Setting.youtubeUnits.flagName, help: Setting.youtubeUnits.help) var youtubeUnits: String?
  @Option(name: Setting.youtubeSearchUnits.flagName, help: Setting.youtubeSearchUnits.help)
  var youtubeSearchUnits: String?
  @Option(name: Setting.youtubeAccountPercent.flagName, help: Setting.youtubeAccountPercent.help)
  var youtubeAccountPercent: String?
  @Option(name: Setting.youtubeFreshHours.flagName, help: Setting.youtubeFreshHours.help) var youtubeFreshHours: String?
  @Option(name: Setting.youtubeRefreshDays.flagName, help: Setting.youtubeRefreshDays.help)
  var youtubeRefreshDays: String?
  @Option(name: Setting.youtubeKeepDays.flagName, help: Setting.youtubeKeepDays.help) var youtubeKeepDays: String?
  @Option(name: Setting.adminToken.flagName, help: Setting.adminToken.help) var adminToken: String?
  @Option(name: Setting.adminReadToken.flagName, help: Setting.adminReadToken.help) var adminReadToken: String?
  @Option(name: Setting.adminPort.flagName, help: Setting.adminPort.help) var adminPort: String?
  @Option(name: Setting.adminURL.flagName, help: Setting.adminURL.help) var adminURL: String?
  @Option(name: Setting.trustedProxies.flagName, help: Setting.trustedProxies.help) var trustedProxies: String?
  @Option(name: Setting.limits.flagName, help: Setting.limits.help) var limits: String?
  @Option(name: Setting.limitPosts.flagName, help: Setting.limitPosts.help) var limitPosts: String?
  @Option(name: Setting.limitFollows.flagName, help: Setting.limitFollows.help) var limitFollows: String?
  @Option(name: Setting.limitLikes.flagName, help: Setting.limitLikes.help) var limitLikes: String?
  @Option(name: Setting.limitComments.flagName, help: Setting.limitComments.help) var limitComments: String?
  @Option(name: Setting.limitLookups.flagName, help: Setting.limitLookups.help) var limitLookups: String?
  @Option(name: Setting.limitSignUps.flagName, help: Setting.limitSignUps.help) var limitSignUps: String?
  @Option(name: Setting.celebLimit.flagName, help: Setting.celebLimit.help) var celebLimit: String?
  @Option(name: Setting.limitUploads.flagName, help: Setting.limitUploads.help) var limitUploads: String?
  @Option(name: Setting.limitUploadTokens.flagName, help: Setting.limitUploadTokens.help)
  var limitUploadTokens: String?
  @Option(name: Setting.certificateKey.flagName, help: Setting.certificateKey.help) var certificateKey: String?
  @Option(name: Setting.webhooksPrivate.flagName, help: Setting.webhooksPrivate.help) var webhooksPrivate: String?
  @Option(name: Setting.webhooksDays.flagName, help: Setting.webhooksDays.help) var webhooksDays: String?
  @Option(name: Setting.web.flagName, help: Setting.web.help) var web: String?
  @Option(name: Setting.agreements.flagName, help: Setting.agreements.help) var agreements: String?
  @Option(name: Setting.adultStatement.flagName, help: Setting.adultStatement.help) var adultStatement: String?
  @Option(name: Setting.publicURL.flagName, help: Setting.publicURL.help) var publicURL: String?
  @Option(name: Setting.purchaseKey.flagName, help: Setting.purchaseKey.help) var purchaseKey: String?
  @Option(name: Setting.storeKitRoot.flagName, help: Setting.storeKitRoot.help) var storeKitRoot: String?
  @Option(name: Setting.storeKitBundle.flagName, help: Setting.storeKitBundle.help) var storeKitBundle: String?
  @Option(name: Setting.storeKitProducts.flagName, help: Setting.storeKitProducts.help) var storeKitProducts: String?
  @Option(name: Setting.storeKitSandbox.flagName, help: Setting.storeKitSandbox.help) var storeKitSandbox: String?
  @Option(name: Setting.mailURL.flagName, help: Setting.mailURL.help) var mailURL: String?
  @Option(name: Setting.mailFrom.flagName, help: Setting.mailFrom.help) var mailFrom: String?
  @Option(name: Setting.passwordResetURL.flagName, help: Setting.passwordResetURL.help) var passwordResetURL: String?
  @Option(name: Setting.emailConfirmationURL.flagName, help: Setting.emailConfirmationURL.help)
  var emailConfirmationURL: String?
  @Option(name: Setting.accountDeletionURL.flagName, help: Setting.accountDeletionURL.help)
  var accountDeletionURL: String?
  @Option(name: Setting.signUpConfirmation.flagName, help: Setting.signUpConfirmation.help)
  var signUpConfirmation: String?
  @Option(name: Setting.rankingTimeZone.flagName, help: Setting.rankingTimeZone.help) var rankingTimeZone: String?
  @Option(name: Setting.mediaDir.flagName, help: Setting.mediaDir.help) var mediaDir: String?
  @Option(name: Setting.mediaURL.flagName, help: Setting.mediaURL.help) var mediaURL: String?
  @Option(name: Setting.mediaQuota.flagName, help: Setting.mediaQuota.help) var mediaQuota: String?
  @Option(name: Setting.mediaUploadRate.flagName, help: Setting.mediaUploadRate.help) var mediaUploadRate: String?
  @Option(name: Setting.mediaControlGroup.flagName, help: Setting.mediaControlGroup.help)
  var mediaControlGroup: String?
  @Option(name: Setting.rankingDepth.flagName, help: Setting.rankingDepth.help) var rankingDepth: String?
  @Option(name: Setting.rankingHistory.flagName, help: Setting.rankingHistory.help) var rankingHistory: String?
  @Option(name: Setting.rankingPoints.flagName, help: Setting.rankingPoints.help) var rankingPoints: String?
  @Option(name: Setting.endedDays.flagName, help: Setting.endedDays.help) var endedDays: String?
  @Option(name: Setting.deadDays.flagName, help: Setting.deadDays.help) var deadDays: String?
  @Option(name: Setting.deadLimit.flagName, help: Setting.deadLimit.help) var deadLimit: String?
  @Option(name: Setting.actionsDays.flagName, help: Setting.actionsDays.help) var actionsDays: String?
  @Option(name: Setting.actionsLimit.flagName, help: Setting.actionsLimit.help) var actionsLimit: String?
  @Option(name: Setting.alarms.flagName, help: Setting.alarms.help) var alarms: String?
  @Option(name: Setting.alarmWebhook.flagName, help: Setting.alarmWebhook.help) var alarmWebhook: String?
  @Option(name: Setting.alarmSecret.flagName, help: Setting.alarmSecret.help) var alarmSecret: String?
  @Option(name: Setting.autoscalingMinimum.flagName, help: Setting.autoscalingMinimum.help) var autoscalingMinimum:
    String?
  @Option(name: Setting.otlpURL.flagName, help: Setting.otlpURL.help) var otlpURL: String?
  @Option(name: Setting.autoscalingMaximum.flagName, help: Setting.autoscalingMaximum.help) var autoscalingMaximum:
    String?
  @Option(name: Setting.logLevel.flagName, help: Setting.logLevel.help) var logLevel: String?
  @Option(name: Setting.logFormat.flagName, help: Setting.logFormat.help) var logFormat: String?
  @Option(name: Setting.shutdownTimeout.flagName, help: Setting.shutdownTimeout.help) var shutdownTimeout: String?

  public init() {}

  /// The flags on the command line.
  public var flags: [Setting: String] {
    let given: [Setting: String?] = [
      .postgresURL: postgresURL, .postgresReplicaURL: postgresReplicaURL, .postgresPool: postgresPool,
      .redisURL: redisURL, .host: host, .apiPort: apiPort, .requestTimeout: requestTimeout,
      .httpHeadTimeout: httpHeadTimeout, .httpBodyTimeout: httpBodyTimeout, .httpIdleTimeout: httpIdleTimeout,
      .httpConnections: httpConnections, .httpClientConnections: httpClientConnections,
      .workerPort: workerPort, .workerConcurrency: workerConcurrency, .queues: queues, .scheduler: scheduler,
      .jobsPayloadLimit: jobsPayloadLimit, .feedDays: feedDays,
      .feedPushLimit: feedPushLimit, .feedSleepDays: feedSleepDays, .youtubeURL: youtubeURL,
      .youtubeKeys: youtubeKeys,
      .youtubeSearches: youtubeSearches, .youtubeUnits: youtubeUnits, .youtubeSearchUnits: youtubeSearchUnits,
      .youtubeAccountPercent: youtubeAccountPercent,
      .youtubeFreshHours: youtubeFreshHours, .youtubeRefreshDays: youtubeRefreshDays,
      .youtubeKeepDays: youtubeKeepDays, .adminToken: adminToken,
      .adminReadToken: adminReadToken, .adminPort: adminPort, .adminURL: adminURL,
      .trustedProxies: trustedProxies, .limits: limits, .limitPosts: limitPosts, .limitFollows: limitFollows,
      .limitLikes: limitLikes, .limitComments: limitComments, .limitLookups: limitLookups,
      .limitSignUps: limitSignUps, .celebLimit: celebLimit, .limitUploads: limitUploads,
      .limitUploadTokens: limitUploadTokens, .mediaQuota: mediaQuota, .mediaUploadRate: mediaUploadRate,
      .certificateKey: certificateKey, .webhooksPrivate: webhooksPrivate, .webhooksDays: webhooksDays,
      .web: web, .agreements: agreements, .adultStatement: adultStatement,
      .publicURL: publicURL, .purchaseKey: purchaseKey, .storeKitRoot: storeKitRoot,
      .storeKitBundle: storeKitBundle, .storeKitProducts: storeKitProducts, .storeKitSandbox: storeKitSandbox,
      .mailURL: mailURL,
      .mailFrom: mailFrom, .passwordResetURL: passwordResetURL, .emailConfirmationURL: emailConfirmationURL,
      .accountDeletionURL: accountDeletionURL,
      .signUpConfirmation: signUpConfirmation, .mediaDir: mediaDir, .mediaURL: mediaURL,
      .mediaControlGroup: mediaControlGroup,
      .rankingTimeZone: rankingTimeZone,
      .rankingDepth: rankingDepth, .rankingHistory: rankingHistory, .rankingPoints: rankingPoints,
      .endedDays: endedDays,
      .deadDays: deadDays, .deadLimit: deadLimit, .actionsDays: actionsDays, .actionsLimit: actionsLimit,
      .alarms: alarms, .alarmWebhook: alarmWebhook, .alarmSecret: alarmSecret, .otlpURL: otlpURL,
      .autoscalingMinimum: autoscalingMinimum,
      .autoscalingMaximum: autoscalingMaximum, .logLevel: logLevel, .logFormat: logFormat,
      .shutdownTimeout: shutdownTimeout,
    ]
    return given.compactMapValues(\.self)
  }
}

extension Setting {
  fileprivate var flagName: NameSpecification { .customLong(flag) }

  fileprivate var help: ArgumentHelp { ArgumentHelp(stringLiteral: Self.helpTexts[path] ?? summary) }

  private static let helpTexts = Dictionary(
    uniqueKeysWithValues: all.map { setting in
      var text = setting.summary.prefix(1).uppercased() + setting.summary.dropFirst()
      if let fallback = setting.fallback { text += " (default: \(fallback))" }
      return (setting.path, text + "; also \(setting.variable).")
    })
}
