public enum CryptoNeighbor {
  public static let name = "Crypto"
}
