import DurableJobsAdmin
import Foundation
import Testing

@testable import DurableJobsDashboard

@Suite("Texts and drawings") struct ViewTests {
  @Test func numbersAndDurationsReadWell() {
    #expect([0, 999, 1000, 1_234_567, -4200].map(PageFormat.number) == ["0", "999", "1,000", "1,234,567", "−4,200"])
    #expect([0, 0.04, 0.25, 3.14159, 42.4, 1234.5].map(PageFormat.rate) == ["0", "<0.1", "0.2", "3.1", "42", "1,235"])
    let seconds = [nil, 0, 0.0004, 0.34, 0.9999, 4.2, 59.9, 60, 192, 3600, 7500, 86_400, 356_400] as [Double?]
    #expect(
      seconds.map(PageFormat.duration) == [
        "–", "0 s", "<1 ms", "340 ms", "1.0 s", "4.2 s", "59 s", "1 min", "3 min 12 s", "1 h", "2 h 5 min", "1 d",
        "4 d 3 h",
      ])
    #expect([12, 1500, 64_000, 12_300_000].map(PageFormat.bytes) == ["12 B", "1.5 kB", "64 kB", "12 MB"])
    #expect(PageFormat.line("a\nb\r\nc", limit: 10) == "a b c")
    #expect(PageFormat.line(String(repeating: "x", count: 300)).count == 161)
  }

  @Test func momentsAreInUTCAndSayHowFarTheyAre() throws {
    let now = try Date("2026-11-21T18:52:03Z", strategy: .iso8601)
    #expect(PageMoment(now - 200, now: now).text == "2026-11-21 18:48:43")
    let distances = [0.4, 12, 200, 7300, 200_000, -90].map { PageMoment(now - $0, now: now).distance }
    #expect(distances == ["now", "12 s ago", "3 min ago", "2 h ago", "2 d ago", "in 1 min"])
  }

  @Test func formsAreReadAsBrowsersSendThem() throws {
    let form = DashboardForm("a=1&a=2&b=x+y%20z&c=&d&e=%E4%BD%A0&f=%zz%4&g=a%00b&=n")
    #expect(form.all("a") == ["1", "2"])
    #expect(form["b"] == "x y z" && form["c"] == nil && form["d"] == nil && form["e"] == "你")
    #expect(form["f"] == "%zz%4" && form["g"] == "ab" && form["h"] == nil)
    #expect(form.without(["a"]).map(\.name).prefix(2) == ["b", "c"])
    #expect(DashboardLink.to("/admin", ("a", "x y&z=\"é"), ("b", nil), ("c", "")) == "/admin?a=x%20y%26z%3D%22%C3%A9")
    #expect(try DashboardForm("at=2026-11-21T18%3A52").date("at") == Date("2026-11-21T18:52:00Z", strategy: .iso8601))
    #expect(throws: DashboardRefusal.self) { try DashboardForm("at=tomorrow").date("at") }
  }

  @Test func aPayloadIsIndentedAndItsNumbersStayAsTheyWere() {
    let payload = PayloadText(#"{"a":[1.50,1e400,{}],"b":"x\"y, {","password":{"x":["}"]},"c":[]}"#)
    #expect(
      payload.text == """
        {
          "a": [
            1.50,
            1e400,
            {}
          ],
          "b": "x\\"y, {",
          "password": "••••••",
          "c": []
        }
        """ || payload.text == #"{"a":[1.50,1e400,{}],"b":"x\"y, {","password":"••••••","c":[]}"#)
    #expect(PayloadText(#"{"token":"a","n":1}"#).text == "{\n  \"token\": \"••••••\",\n  \"n\": 1\n}")
    #expect(PayloadText("no JSON {").text == "no JSON {")
    #expect(PayloadText(#"{"API_Key" : ["k1"], "n":1"#).text == #"{"API_Key" : "••••••", "n":1"#, "none, either")
    let long = PayloadText(String(repeating: "é", count: 40_000))
    #expect(long.cutFrom == "80 kB" && long.text.utf8.count <= PayloadText.limit + 3)
    let rest = String(repeating: "x", count: PayloadText.limit)
    let cut = PayloadText(#"{"password":"hunter2","rest":"\#(rest)","token":"hunter3"}"#)
    #expect(cut.cutFrom == "66 kB" && cut.text.hasPrefix("{\n  \"password\": \"••••••\",\n  \"rest\": \"xxx"))
    #expect(!cut.text.contains("hunter"))
    // A secret that is itself truncated.
    #expect(!PayloadText(#"{"secret":["\#(rest)"]}"#).text.contains("xxx"))
    let nested = String(repeating: "[", count: 400) + String(repeating: "1,", count: 30_000) + "1"
    #expect(PayloadText(nested + String(repeating: "]", count: 400)).text.utf8.count < 5_000_000)
  }

  @Test func aChartSaysInWordsWhatItDraws() throws {
    let start = try Date("2026-11-21T18:00:00Z", strategy: .iso8601)
    let columns = (0..<60).map { Chart.Column(at: start + 60 * Double($0), values: [Double($0)]) }
    let chart = Chart(
      id: "t", title: "Jobs <done>", unit: "a minute", [Chart.Series(name: "Done", style: "done")], columns,
      isArea: true,
      span: 3600)
    #expect(chart.top == "100 a minute" && chart.from == "18:00" && chart.middle == "18:30" && chart.to == "18:59")
    #expect(chart.summary == "On average 30 a minute, at most 59 a minute.")
    #expect(chart.svg.contains("<title id=\"t-title\">Jobs &lt;done&gt;</title>") && !chart.svg.contains("style="))
    #expect(chart.rows.count == 20 && chart.rows[0].cells == ["58"])
    #expect([0.3, 1, 1.2, 7, 10, 99, 1001].map(Chart.edge(above:)) == [1, 1, 2, 10, 10, 100, 2000])
    let empty = Chart(id: "e", title: "E", unit: "", [Chart.Series(name: "x", style: "x")], [], isArea: false, span: 1)
    #expect(empty.summary == "Nothing in this period." && empty.rows.isEmpty)
  }

  @Test func noSecretIsShownWhateverStandsBehindIt() throws {
    let secret = "a \"secret\""
    let renderer = try Renderer(secrets: [secret])
    for rest in ["", "\u{301}", "\u{200D}x", "\u{2060}", "<"] {
      let shown = renderer.part("html", at: MountPath("/ops"), for: nil, ["html": secret + rest])
      let escaped = renderer.part("html", at: MountPath("/ops"), for: nil, ["html": secret.escaped + rest])
      for text in [shown, escaped] {
        #expect(!String(text.unicodeScalars.filter(\.isASCII)).contains("secret"))
      }
    }
  }

  @Test func linksBeginWithTheMount() {
    for (path, home, jobs) in [("/ops", "/ops", "/ops/jobs"), ("a/b/", "/a/b", "/a/b/jobs"), ("/", "/", "/jobs")] {
      let mount = MountPath(path)
      #expect(mount.home == home && mount.link("") == home && mount.link("jobs") == jobs)
      #expect(mount.link("?window=day") == home + "?window=day")
      #expect(mount.contains(home) && mount.contains(jobs + "?state=dead") && mount.contains(home + "?window=day"))
      for address in ["//evil.example", jobs + "//evil.example", "https://evil.example", "", jobs + "\r\nx: y"] {
        #expect(!mount.contains(address), "\(address) at \(path)")
      }
    }
    #expect(!MountPath("/ops").contains("/opsx") && !MountPath("/ops").contains("/"))
  }
}
