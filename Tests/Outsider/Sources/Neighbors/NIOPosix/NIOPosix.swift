public enum NIOPosixNeighbor {
  public static let name = "NIOPosix"
}
