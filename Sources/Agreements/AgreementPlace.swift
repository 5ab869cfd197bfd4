import Foundation

/// A device's location, in integers, so that two devices encode it alike.
public struct AgreementPlace: Sendable, Hashable, Codable {
  /// In millionths of a degree, north of the equator.
  public let latitude: Int
  /// In millionths of a degree, east of Greenwich.
  public let longitude: Int
  /// The radius of uncertainty, in metres.
  public let accuracy: Int

  /// The greatest distance between two devices that agree, in metres.
  public static let greatestDistance = 100.0

  /// - Parameters:
  ///   - latitude: in degrees, north of the equator.
  ///   - longitude: in degrees, east of Greenwich.
  ///   - accuracy: in metres.
  /// - Throws: `malformed` for invalid coordinates.
  public init(latitude: Double, longitude: Double, accuracy: Double) throws(AgreementError) {
    guard abs(latitude) <= 90, abs(longitude) <= 180, (0...100_000).contains(accuracy) else { throw Self.malformed }
    self.latitude = Int((latitude * 1_000_000).rounded())
    self.longitude = Int((longitude * 1_000_000).rounded())
    self.accuracy = Int(accuracy.rounded(.up))
  }

  private static let malformed = AgreementError(
    .malformed, "a place needs a latitude, a longitude, and an accuracy in metres")

  func check() throws(AgreementError) {
    guard abs(latitude) <= 90_000_000, abs(longitude) <= 180_000_000, (0...100_000).contains(accuracy) else {
      throw Self.malformed
    }
  }

  /// The distance in metres, on a sphere of the Earth's mean radius.
  public func distance(to other: AgreementPlace) -> Double {
    func radians(_ millionths: Int) -> Double { Double(millionths) / 1_000_000 * .pi / 180 }
    let north = sin(radians(other.latitude - latitude) / 2)
    let east = sin(radians(other.longitude - longitude) / 2)
    let a = north * north + cos(radians(latitude)) * cos(radians(other.latitude)) * east * east
    return 2 * 6_371_009 * asin(min(1, a.squareRoot()))
  }

  /// - Throws: `tooFar` beyond 100 metres, or if a device's location is too uncertain to tell.
  public func checkNearness(to other: AgreementPlace) throws(AgreementError) {
    guard Double(max(accuracy, other.accuracy)) <= Self.greatestDistance else {
      throw AgreementError(.tooFar, "a device's location is too imprecise: move to where it can see the sky")
    }
    guard distance(to: other) <= Self.greatestDistance else {
      throw AgreementError(.tooFar, "the devices are more than 100 metres apart")
    }
  }
}
