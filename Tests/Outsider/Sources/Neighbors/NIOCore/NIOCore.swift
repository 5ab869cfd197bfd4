public enum NIOCoreNeighbor {
  public static let name = "NIOCore"
}
