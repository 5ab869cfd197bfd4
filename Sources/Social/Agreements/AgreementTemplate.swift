/// A text on offer. Devices agree on the text itself, so changing a template later changes no record.
public struct AgreementTemplate: Sendable, Hashable {
  /// The languages of the templates, as BCP 47 tags.
  public enum Language: String, Sendable, CaseIterable {
    case english = "en"
    case korean = "ko"
  }

  public let id: String
  public let language: Language
  public let title: String
  public let text: String

  /// All templates in a language.
  public static func all(in language: Language) -> [AgreementTemplate] {
    let forms =
      switch language {
      case .english: english
      case .korean: korean
      }
    let end =
      switch language {
      case .english: englishEnd
      case .korean: koreanEnd
      }
    return forms.map {
      AgreementTemplate(id: $0.id, language: language, title: $0.title, text: $0.text + "\n\n" + end)
    }
  }

  private typealias Form = (id: String, title: String, text: String)

  private static let englishEnd = """
    Each of us can withdraw at any moment, by saying so or by showing it, without giving a reason, whatever was agreed \
    before. From then on this agreement is over.

    This record shows what we both wrote down at this time. It proves no consent: what counts is what each of us wants \
    at the moment itself.
    """

  private static let english: [Form] = [
    (
      "time-together", "Spending time together",
      """
      We want to spend time together now. Both of us are adults, both of us are here because we want to be, and \
      neither of us is pressed to stay.

      Each of us says what is fine and what is not, asks before something new, and takes silence for no.
      """
    ),
    (
      "pictures", "Taking pictures",
      """
      We take pictures or videos of each other. Both of us are adults and both of us want this.

      Each of us may look at every picture at once and have it deleted. Neither of us shows or sends a picture to \
      anybody else unless the other agrees to that picture, first and in words.
      """
    ),
    (
      "intimacy", "Being intimate",
      """
      We want to be intimate with each other. Both of us are adults, neither of us is drunk or drugged, and neither of \
      us is pressed by the other or by anybody else.

      A yes to one thing is no yes to another. Each of us asks before something new, and stops when the other asks for \
      it, hesitates or falls silent. We have talked about protection.
      """
    ),
  ]

  private static let koreanEnd = """
    우리는 누구나 언제든지, 말이나 행동으로, 이유를 밝히지 않고 이 합의를 철회할 수 있습니다. 이전에 무엇에 합의했든 \
    마찬가지입니다. 철회하는 순간 이 합의는 끝납니다.

    이 기록은 우리 두 사람이 이 시각에 무엇을 적었는지를 보여 줄 뿐, 동의를 증명하지 않습니다. 중요한 것은 바로 그 순간 \
    각자가 원하는 것입니다.
    """

  private static let korean: [Form] = [
    (
      "time-together", "함께 시간 보내기",
      """
      우리는 지금 함께 시간을 보내고 싶습니다. 우리 두 사람은 모두 성인이며, 스스로 원해서 여기에 있고, 누구도 머물도록 \
      강요받지 않습니다.

      우리는 각자 괜찮은 것과 괜찮지 않은 것을 말하고, 새로운 것을 하기 전에 물어보며, 침묵을 거절로 받아들입니다.
      """
    ),
    (
      "pictures", "사진 찍기",
      """
      우리는 서로의 사진이나 영상을 찍습니다. 우리 두 사람은 모두 성인이며 이를 원합니다.

      우리는 누구나 찍은 것을 바로 확인하고 지워 달라고 할 수 있습니다. 상대방이 그 사진에 대해 미리 말로 동의하지 않는 한, \
      누구에게도 보여 주거나 보내지 않습니다.
      """
    ),
    (
      "intimacy", "친밀한 관계",
      """
      우리는 서로 친밀한 관계를 갖고 싶습니다. 우리 두 사람은 모두 성인이며, 술이나 약물에 취하지 않았고, 상대방이나 다른 \
      누구에게도 강요받지 않았습니다.

      한 가지에 대한 동의는 다른 것에 대한 동의가 아닙니다. 우리는 새로운 것을 하기 전에 물어보고, 상대방이 멈추라고 하거나 \
      망설이거나 말이 없으면 멈춥니다. 우리는 피임과 보호에 대해 이야기했습니다.
      """
    ),
  ]
}
