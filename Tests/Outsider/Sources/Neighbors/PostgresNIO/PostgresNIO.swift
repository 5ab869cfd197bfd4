public enum PostgresNIONeighbor {
  public static let name = "PostgresNIO"
}
