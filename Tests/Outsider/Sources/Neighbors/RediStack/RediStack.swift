public enum RediStackNeighbor {
  public static let name = "RediStack"
}
