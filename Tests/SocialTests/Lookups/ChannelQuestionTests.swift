import Foundation
import Testing

@testable import Social

@Suite struct ChannelQuestionTests {
  private static let id = "UC_x5XG1OV2P6uZZ5FSM9Ttw"

  @Test(arguments: [
    (id, "id:\(id)"), ("  \(id)\n", "id:\(id)"),
    ("https://www.youtube.com/channel/\(id)", "id:\(id)"), ("youtube.com/channel/\(id)/videos?view=0", "id:\(id)"),
    ("HTTPS://M.YouTube.com/channel/\(id)#about", "id:\(id)"), ("youtu.be/channel/\(id)", "id:\(id)"),
    ("@GoogleDevelopers", "handle:@googledevelopers"),
    ("https://youtube.com/@Google.Dev-s_1", "handle:@google.dev-s_1"),
    ("www.youtube.com/@%ED%95%9C%EA%B5%AD", "handle:@한국"), ("https://youtu.be/@Name?si=x", "handle:@name"),
    ("@two words", "text:@two words"), ("  Some   Body\t Else ", "text:some body else"), ("ÄÖ", "text:äö"),
    ("uc_x5xg1ov2p6uzz5fsm9ttw", "text:uc_x5xg1ov2p6uzz5fsm9ttw"), ("AC/DC", "text:ac/dc"), ("a:b", "text:a:b"),
    (":", "text::"), ("youtube.com/user/TheName", "text:thename"),
    ("https://www.youtube.com/c/TheName/x", "text:thename"),
    ("https://www.youtube.com/TheName", "text:thename"), ("who is youtube.com", "text:who is youtube.com"),
  ])
  func equalQuestionsHaveOneKey(_ typed: String, _ key: String) throws {
    let question = try ChannelQuestion(typed)
    #expect(question.key == key)
    #expect(ChannelQuestion(key: key) == question)
  }

  @Test(arguments: [
    "", " ", "\t\n ", String(repeating: "a", count: 201), "a\0b", "https://example.org/@name", "http://",
    "https://youtube.com",
    "youtube.com/", "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "https://youtu.be/dQw4w9WgXcQ",
    "youtube.com/shorts/abc", "youtube.com/channel/abc", "youtube.com/channel", "youtube.com/c/", "youtube.com/@a%00b",
    "youtube.com/c/%20",
  ])
  func whatAsksForNoChannelIsRefused(_ typed: String) async throws {
    #expect(try await code { _ = try ChannelQuestion(typed) } == .invalid("q"))
  }

  @Test func twoHundredCharactersAreNotTooMany() throws {
    #expect(try ChannelQuestion(String(repeating: "ß", count: 200)).key.hasPrefix("text:ß"))
  }

  @Test(arguments: [
    ("a &amp; b", "a & b"), ("&amp;amp;", "&amp;"), ("&#39;x&#39;", "'x'"), ("&#x1F600;", "😀"), ("&lt;b&gt;", "<b>"),
    ("&quot;", "\""), ("AT&T; &c", "AT&T; &c"), ("&nosuch;", "&nosuch;"), ("&#0;", "&#0;"), ("&#xD800;", "&#xD800;"),
    ("&", "&"), ("&;", "&;"), ("a&ampb", "a&ampb"), ("&#99999999999;", "&#99999999999;"), ("&#+39;", "&#+39;"),
  ])
  func titlesAreUnescapedOnce(_ html: String, _ text: String) {
    #expect(HTMLText.unescaped(html) == text)
  }

  @Test func messagesLoseTheirHTML() {
    #expect(
      HTMLText.plain("The request exceeds your <a href=\"/youtube/v3#quota\">quota</a>.\n  <b>Sorry</b> &amp; bye")
        == "The request exceeds your quota. Sorry & bye")
    #expect(HTMLText.plain(String(repeating: "long ", count: 1000)).count == 500)
  }
}
