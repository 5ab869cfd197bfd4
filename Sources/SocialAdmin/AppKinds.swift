import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Social

extension JobKinds {
  /// The app's job kinds.
  public static var app: JobKinds {
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(in: &registry)
    return JobKinds(registry)
  }
}
