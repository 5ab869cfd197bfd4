public enum QueuesNeighbor {
  public static let name = "Queues"
}
