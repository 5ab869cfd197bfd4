public enum JobsNeighbor {
  public static let name = "Jobs"
}
