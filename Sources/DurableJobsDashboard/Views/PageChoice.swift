/// An option of a list, which a template writes as
/// `{{#states}}<option value="{{value}}"{{#isChosen}} selected{{/isChosen}}>{{value}}</option>{{/states}}`.
public struct PageChoice: Sendable {
  public let value: String
  public let isChosen: Bool

  /// All options of a list.
  public static func all(_ values: [String], chosen: String?) -> [PageChoice] {
    values.map { PageChoice(value: $0, isChosen: $0 == chosen) }
  }
}
