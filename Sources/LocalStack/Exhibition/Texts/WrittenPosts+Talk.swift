extension WrittenPosts {
  static let talk = """
    * talk
    Who has a spare brayer?
    Mine has a dent that prints on everything. Any width above 10 cm.
    > I own eleven. Come by, second floor, the door with the sticker.
    < You are a legend. Ten minutes.
    > Can confirm, it is eleven.

    * talk
    Lost: one green scarf, hand woven
    Probably in the weaving room or the canteen. Reward: another scarf.
    > There's one on the hook next to the warping mill.
    < That's it! Thank you!!

    * talk
    Kiln 2 is cooling, please do not open it
    I know it says 180. It lies.
    > How long?
    < Tomorrow at nine. Bring gloves and hope.

    * talk
    How do you photograph shiny glaze?
    Every picture has my face in it.
    > Big window, white sheet opposite, no flash ever.
    > Polarising filter. Ask Noah, he has two.
    > I have two. You can have one till Friday.
    < Done, thank you both.

    * talk
    Print exchange: 20 people, 20 prints
    A5, any technique, edition of 21. You get one of everybody's. Deadline is the end of the month.
    > In!
    > In, with linocut. May it be slightly larger than A5?
    < No. Slightly smaller is fine.
    > I'm in if there's still room.
    < Three places left.

    * talk
    Is the third floor loud for anybody else?
    Since Monday there is a hum. I thought it was the risograph, but it is off.
    > It's the dust extraction. They know.
    > I have started to like it.

    * talk
    Unpopular opinion: black outlines are fine
    > Block and report.
    > Agree, but only if they're blue.
    < That is a different opinion, and also correct.

    * talk
    First review today
    Forty minutes, two good questions, one I am still thinking about: "What would it be without the nice colours?"
    > Ouch. And what would it be?
    < A drawing, I hope.
    > I got the same question last year. It changed what I did, in the end.

    * talk
    Spring roll of 35 mm paper, half price
    Bought too much. Neutral white, 90 g, about 40 m left.
    > I'd take ten metres.
    < Come with a tube.

    * talk
    Which portfolio size do you all use?
    > A2. Fits in the train, barely.
    > A3 and a lot of photographs of big things.
    > A1. I also have strong arms now.

    * talk
    Free clay, slightly cursed
    Reclaimed stoneware, 20 kg, with an unknown quantity of porcelain in it. Fires to a surprise.
    > Mine. I like surprises.

    * talk
    Reading list on colour?
    I've done Albers. What next?
    > Itten if you like rules, Batchelor's "Chromophobia" if you don't.
    > Go and print two inks in every proportion. Took me a weekend and taught me more than a book.
    < Both, then. Thanks!

    * talk
    To whoever cleaned the screens
    You're a better person than all of us.
    > It was the night crew. They also fixed the exposure lamp!

    * talk
    실크스크린실 예약 어떻게 하나요?
    게시판에는 전화하라고 되어 있는데 아무도 안 받아요.
    > 조교님께 메시지 드리면 바로 됩니다.
    > 화요일 오전은 거의 비어 있어요.
    < 감사합니다! 화요일에 뵐게요.

    * talk
    가마 같이 돌리실 분
    반밖에 못 채울 것 같아요. 1230도, 산화. 금요일 저녁.
    > 컵 여섯 개 있어요!
    > 저도 작은 접시 몇 개요.
    < 두 분이면 꽉 찹니다. 금요일 여섯 시에 봬요.

    * talk
    졸업전시 이름 공모
    지금까지 나온 것: "다음 역", "임시 제목", "마르는 중".
    > 마르는 중 너무 좋아요.
    > 저도 마르는 중에 한 표.
    > 임시 제목을 진짜 제목으로 하는 건 어때요?
    < 투표는 다음 주 월요일입니다.

    * talk
    중고 물레 팝니다
    모터는 조용하고 발판만 조금 뻑뻑해요. 직접 보러 오셔도 됩니다.
    > 아직 있나요?
    < 네, 있어요. 메시지 주세요.

    * talk
    오늘 급식 말고 학생식당 메뉴
    카레였습니다. 물감이랑 색이 똑같았어요.
    > 카드뮴 옐로 딥.
    > 맛은요?
    < 카드뮴 맛은 아니었어요.

    * talk
    밤샘 작업할 때 뭐 들으세요?
    > 빗소리 여덟 시간짜리요.
    > 한밤의 라디오. 사연이 너무 웃겨요.
    > 아무것도 안 들어요. 기계 소리가 음악입니다.

    * talk
    스캐너 예약표 또 사라졌어요
    > 제가 새로 붙여 놨어요. 이번엔 테이프로.
    < 복 받으실 거예요.

    * talk
    종이 공동구매
    문켄 퓨어 120g, 전지로 두 연. 남는 건 나눠요.
    > 백 장이요!
    > 저는 오십 장.
    > 혹시 100g도 되나요?
    < 이번엔 120g만요. 다음에 100g 해요.

    * talk
    리뷰 끝났다
    울지 않았습니다. 이번에는.
    > 고생했어요. 떡볶이 먹으러 가요.
    < 지금요?
    > 지금요.

    * talk
    Open studio on Thursday
    Ground floor, all doors open from five. There will be soup.
    > What kind of soup?
    < The kind with bread.
    > I'll bring the bread, then.

    * talk
    Screen-printing on fabric that has already been dyed
    The white never covers. Two passes? A different binder?
    > Opaque base, flash dry, second pass. Or discharge paste, if the dye allows it.
    > Discharge. Open a window.
    < Window is open, trying now.

    * talk
    사진과 암실 열쇠 누가 가지고 계세요?
    > 수위실에 있어요. 학생증 맡기면 됩니다.

    * talk
    Does anybody want to learn bookbinding together?
    One evening a week, needle and thread, no machines.
    > Me!
    > Me too, if it isn't Wednesday.
    < Tuesdays it is.
    """
}
