import Foundation

/// An account of the demo.
struct Student: Sendable, Hashable {
  let username: String
  let name: String
  let major: String
  let bio: String
  /// nil for the few who never chose one.
  let avatar: Print?

  var email: String { "\(username)@example.org" }
  var isKorean: Bool { name.unicodeScalars.contains { 0xAC00...0xD7A3 ~= $0.value } }

  /// The first `count` students of the list.
  static func all(_ count: Int, seed: UInt64) -> [Student] {
    StudentList.text.split(separator: "\n").prefix(count).enumerated().map { number, line in
      var numbers = SeededNumbers(seed: seed, stream: 0x1000 + UInt64(number))
      let fields = line.split(separator: "|", omittingEmptySubsequences: false).map { field in
        field.trimmingCharacters(in: .whitespaces)
      }
      return Student(
        username: fields[0], name: fields[1], major: fields[2], bio: fields.count > 3 ? fields[3] : "",
        avatar: avatar(number, &numbers))
    }
  }

  private static func avatar(_ number: Int, _ numbers: inout SeededNumbers) -> Print? {
    // The visitor has one, and so have two of three others.
    guard number == 0 || numbers.chance(66) else { return nil }
    let others: [Print.Design] = [.discs, .rays, .hills, .leaves, .cutouts]
    let design = numbers.chance(60) ? .portrait : numbers.pick(others)
    return Print(design: design, shape: .square, palette: numbers.below(PrintPalette.all.count), seed: numbers.next())
  }

  /// Whether the student's subject is one that makes such pictures.
  func makes(_ design: Print.Design) -> Bool { Self.majors(of: design).contains(major) }

  private static func majors(of design: Print.Design) -> Set<String> {
    switch design {
    case .hills: ["Painting", "Printmaking", "Photography", "회화", "판화", "사진"]
    case .leaves: ["Illustration", "Printmaking", "일러스트레이션", "판화"]
    case .vessels: ["Ceramics", "Sculpture", "도예", "조소", "공예"]
    case .tiles: ["Graphic Design", "Architecture", "시각디자인", "건축", "도예"]
    case .discs: ["Graphic Design", "Painting", "Industrial Design", "시각디자인", "회화"]
    case .windows: ["Architecture", "Photography", "Animation", "건축", "사진", "애니메이션"]
    case .portrait: ["Illustration", "Animation", "일러스트레이션", "애니메이션"]
    case .waves: ["Textile Design", "섬유디자인"]
    case .terrazzo: ["Ceramics", "Industrial Design", "도예", "공예"]
    case .rays: ["Graphic Design", "Printmaking", "시각디자인"]
    case .cutouts: ["Illustration", "Textile Design", "Sculpture", "일러스트레이션", "섬유디자인", "공예"]
    }
  }
}
