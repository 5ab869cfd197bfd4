public enum JobsPostgresNeighbor {
  public static let name = "JobsPostgres"
}
