public enum JobsRedisNeighbor {
  public static let name = "JobsRedis"
}
