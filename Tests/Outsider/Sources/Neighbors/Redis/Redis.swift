public enum RedisNeighbor {
  public static let name = "Redis"
}
