import Social
import Testing

struct EntityIDTests {
  @Test func whatJSONCannotTellApartIsNoID() {
    #expect(EntityID.parse("0") == 0)
    #expect(EntityID.parse("9007199254740991") == 9_007_199_254_740_991)
    for text in [
      "9007199254740992", "1152921504606846976", "9223372036854775807", "9223372036854775808", "-1", "x", "",
    ] {
      #expect(EntityID.parse(text) == nil, "\(text)")
    }
  }

  @Test func noCursorGoesBeyondThem() throws {
    #expect(try PageRequest(before: 9_007_199_254_740_991).before == 9_007_199_254_740_991)
    #expect(throws: SocialError.self) { try PageRequest(before: 9_007_199_254_740_992) }
    #expect(EventFeedCursor(text: "1-2-3-4-5") != nil)
    #expect(EventFeedCursor(text: "1-9007199254740992-3-4-5") == nil)
  }
}
