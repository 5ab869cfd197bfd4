import DurableJobsAdmin
import Foundation
import OTLPTracing

extension Settings {
  /// Reads the alarm limits, the alarm webhook, and the bounds on the number of workers.
  mutating func takeObservation(_ reader: SettingsReader) throws(SettingsError) {
    try take(.alarms, reader.text(.alarms)) { settings, text throws(Wrong) in
      do throws(AlarmLimits.Refusal) {
        settings.alarms = try AlarmLimits(text)
      } catch {
        throw Wrong(value: text, reason: error.description)
      }
    }
    try take(.alarmWebhook, reader.text(.alarmWebhook)) { settings, text throws(Wrong) in
      guard AlarmWebhook(url: text) != nil else {
        throw Wrong(value: text, reason: "not a URL that begins with https:// or http://, without a user in it")
      }
      settings.alarmWebhook = Secret(text)
    }
    try take(.otlpURL, reader.text(.otlpURL)) { settings, text throws(Wrong) in
      guard OTLPEndpoint(url: text) != nil else {
        throw Wrong(value: text, reason: "not a URL that begins with https:// or http://")
      }
      settings.otlpURL = Secret(text)
    }
    try take(.alarmSecret, reader.text(.alarmSecret)) { settings, text throws(Wrong) in
      guard text.count >= 16 else {
        throw Wrong(value: text, reason: "\(text.count) characters are too few: use at least 16")
      }
      settings.alarmSecret = Secret(text)
    }
    try take(.autoscalingMinimum, reader.number(.autoscalingMinimum, in: 0...10_000)) { $0.autoscalingMinimum = $1 }
    try take(.autoscalingMaximum, reader.number(.autoscalingMaximum, in: 1...10_000)) { $0.autoscalingMaximum = $1 }
    if autoscalingMaximum < autoscalingMinimum {
      // Blame the setting that was given, or the upper one if both were.
      let minimum = Setting.autoscalingMinimum.variable
      if isSet(.autoscalingMaximum) {
        throw refusal(
          of: .autoscalingMaximum, value: "\(autoscalingMaximum)",
          because: "less than \(minimum), \(autoscalingMinimum)")
      }
      throw refusal(
        of: .autoscalingMinimum, value: "\(autoscalingMinimum)",
        because: "more than \(Setting.autoscalingMaximum.variable), \(autoscalingMaximum)")
    }
  }
}
