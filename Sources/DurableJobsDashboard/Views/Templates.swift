/// The compiled-in templates.
enum Templates {
  static let all: [(name: String, text: [UInt8])] = [
    ("frame", PackageResources.frame_mustache),
    ("part", PackageResources.part_mustache),
    ("html", PackageResources.html_mustache),
    ("message", PackageResources.message_mustache),
    ("confirm", PackageResources.confirm_mustache),
    ("overview", PackageResources.overview_mustache),
    ("chart", PackageResources.chart_mustache),
    ("queues", PackageResources.queues_mustache),
    ("queue", PackageResources.queue_mustache),
    ("jobs", PackageResources.jobs_mustache),
    ("job-rows", PackageResources.job_rows_mustache),
    ("job", PackageResources.job_mustache),
    ("dead", PackageResources.dead_mustache),
    ("workers", PackageResources.workers_mustache),
    ("schedules", PackageResources.schedules_mustache),
    ("actions", PackageResources.actions_mustache),
  ]
}
