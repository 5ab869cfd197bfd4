public enum HummingbirdNeighbor {
  public static let name = "Hummingbird"
}
