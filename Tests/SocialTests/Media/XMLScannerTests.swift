import Foundation
import TestSupport
import Testing

@testable import Social

struct XMLScannerTests {
  private func scan(_ text: String) -> [String]? {
    var found: [String] = []
    do throws(XMLScanner.Malformed) {
      try XMLScanner.scan(Array(text.utf8)) { found.append("\($0)=\($1)") }
      return found
    } catch {
      return nil
    }
  }

  @Test func elementsTextsAndReferences() {
    let text = """
      \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
      <!-- a < b -->
      <a xmlns="http://s3.amazonaws.com/doc/2006-03-01/" b = 'x>y'>t<b/>u<c >&lt;&amp;&gt;&quot;&apos;&#x41;&#66;</c ><!-- --></a>

      """
    #expect(scan(text) == ["a/b=", "a/c=<&>\"'AB", "a=tu"])
  }

  @Test(arguments: [
    "", " ", "text", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>x", "x<a/>", "<a", "<a b></a>", "<a b=c></a>",
    "<a b='></a>", "<a>&no;</a>", "<a>&amp</a>", "<a>&#xD800;</a>", "<a>&#;</a>", "<!DOCTYPE a><a/>",
    "<a><![CDATA[x]]></a>", "<a><!-- </a>", "<?xml <a/>", "< a/>", "<a><b></a></b>",
    String(repeating: "<a>", count: 17) + String(repeating: "</a>", count: 17),
  ])
  func anythingElseIsRefused(_ text: String) {
    #expect(scan(text) == nil)
  }

  @Test func noBytesAtAllAreTooMuch() throws {
    var generator = SeededGenerator("xml")
    let whole = Array("<?xml version='1.0'?><a b=\"c\"><d>e&amp;f</d><!-- g --><h/></a>".utf8)
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.removeSubrange(place..<min(place + 5, bytes.count))
        default: bytes.insert(contentsOf: "<&>/'".utf8.shuffled(using: &generator), at: place)
        }
        if bytes.isEmpty { break }
      }
      do throws(XMLScanner.Malformed) { try XMLScanner.scan(bytes) { _, _ in } } catch { continue }
    }
  }

  @Test func aListingIsReadWholeOrNotAtAll() throws {
    func listing(_ rest: String) -> S3Listing? { S3Listing(Array("<ListBucketResult>\(rest)</ListBucketResult>".utf8)) }
    let entry =
      "<Contents><Key>a&amp;b</Key><LastModified>2013-05-24T00:00:00.500Z</LastModified><Size>7</Size></Contents>"
    let page = try #require(
      listing("\(entry)<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"))
    #expect(page.next == "t" && page.entries.map(\.key) == ["a&b"] && page.entries.map(\.bytes) == [7])
    #expect(page.entries.map(\.modified.timeIntervalSince1970) == [1_369_353_600.5])
    let last = listing("\(entry.replacing(".500Z", with: "Z"))<IsTruncated>false</IsTruncated>")
    #expect(last?.next == nil && last?.entries.map(\.modified.timeIntervalSince1970) == [1_369_353_600])
    for wrong in [
      entry, "<IsTruncated>true</IsTruncated>", "<IsTruncated>maybe</IsTruncated>",
      entry.replacing(">7<", with: ">-7<") + "<IsTruncated>false</IsTruncated>",
      entry.replacing("2013", with: "next year") + "<IsTruncated>false</IsTruncated>",
    ] {
      #expect(listing(wrong) == nil, "\(wrong)")
    }
    #expect(S3Listing(Array("<html><IsTruncated>false</IsTruncated></html>".utf8)) == nil)
  }
}
