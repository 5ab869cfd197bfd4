/// Conversations in messages: `NAME:` before each line. `visitor` stands for the visitor's account; a conversation that
/// ends with `-` has not been read by the visitor since the last line of their own.
enum WrittenTalks {
  struct Talk: Sendable, Hashable {
    struct Line: Sendable, Hashable {
      let sender: String
      let text: String
    }

    var lines: [Line] = []
    var isUnread = false

    /// The two usernames, in the order in which they first speak.
    var speakers: [String] {
      lines.reduce(into: []) { names, line in if !names.contains(line.sender) { names.append(line.sender) } }
    }
  }

  static let all = read(text)

  static func read(_ text: String) -> [Talk] {
    var talks = [Talk()]
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 {
        talks[talks.count - 1].lines.append(
          Talk.Line(sender: String(parts[0]), text: String(parts[1].drop { $0 == " " })))
      } else if line == "-" {
        talks[talks.count - 1].isUnread = true
      } else if !(talks.last?.lines.isEmpty ?? true) {
        talks.append(Talk())
      }
    }
    return talks.filter { !$0.lines.isEmpty }
  }

  private static let text = """
    harper.lane: Hi! You asked about the green glaze under my post. Want a test tile?
    visitor: Yes please! Where do I find you?
    harper.lane: Ceramics, ground floor, the bench under the broken clock. Any day before noon.
    visitor: I'll come on Thursday. Do I bring anything?
    harper.lane: Coffee is accepted as currency.
    visitor: Then I'll bring two.

    minseo: 안녕하세요! 첫 게시물 잘 봤어요. 혹시 리소 수업 들으세요?
    visitor: 안녕하세요, 아직이요. 다음 학기에 들으려고 해요.
    minseo: 그럼 그 전에 한번 놀러 오세요. 노란 잉크 새로 들어왔어요.
    visitor: 정말요? 언제가 괜찮으세요?
    minseo: 수요일 오후면 언제든지요!
    minseo: 아, 그리고 A3 종이는 넉넉히 가져오세요. 한 장으로는 못 멈춰요.
    -

    theo.m: Loved your balcony print. Would you swap it for one of the posters?
    visitor: Gladly. The one with the leaning circles?
    theo.m: It's yours. I'll leave it in the print room with your name on it.
    visitor: Same here, give me a day to trim it.

    ines: The print exchange still has one place. Yours if you answer before I do the list tonight.
    visitor: I'm in! Linocut or riso?
    ines: Whatever you can do 21 times without hating it.
    ines: And tell me your paper size by Friday, I'm making the box.
    ines: PS: the neighbour's haircut. Perfect.
    -

    clara.f: Are you coming to the open studio?
    visitor: For the soup, yes.
    clara.f: Honest. I respect that.

    jiwoo.p: 식물 그림 너무 좋았어요. 그 민트 아닌 풀, 혹시 레몬밤 아닐까요?
    visitor: 찾아보니까 맞는 것 같아요! 향이 레몬이에요.
    jiwoo.p: 역시. 차로 마시면 맛있어요 :)
    -

    soyul: 금요일 가마 자리 아직 있어요?
    nari: 네, 위칸 반 정도요. 높이 15cm까지만요.
    soyul: 딱이네요. 컵 네 개 가져갈게요!
    nari: 다섯 시까지 오시면 같이 쌓아요.

    oskar.w: Can I borrow your long ruler?
    noah.b: It's behind the enlarger. Bring it back straight this time.
    oskar.w: It was straight when I left it.
    noah.b: That's what the ruler says too.
    """
}
