/// The students of the demo: username, name, major and, of some, what they say of themselves.
///
/// The first is the visitor's own account.
enum StudentList {
  static let text = """
    visitor | Robin Seo | Illustration | Looking around. 구경 왔어요.
    minseo | 김민서 | 판화 | 리소와 실크스크린. 노란 잉크를 너무 좋아합니다.
    harper.lane | Harper Lane | Ceramics | Second year. Porcelain, mostly broken.
    jiwoo.p | 박지우 | 일러스트레이션 | 식물과 사람 얼굴을 그려요. 의뢰는 메시지로.
    theo.m | Theo Marchetti | Graphic Design | Grids, circles, and posters nobody asked for.
    soyul | 이소율 | 도예 | 물레 앞에서 하루가 다 갑니다.
    ines | Inês Carvalho | Printmaking | Linocut in the morning, intaglio at night.
    haneul | 정하늘 | 회화 | 산을 자주 그립니다.
    oskar.w | Oskar Winther | Architecture | Drawing houses that I will never build.
    yerin | 최예린 | 섬유디자인 | 무늬를 짜고, 물들이고, 다시 풉니다.
    maya.d | Maya Desai | Textile Design | Block print, indigo, and a loom called Edith.
    dohyun | 강도현 | 애니메이션 | 초당 열두 장.
    clara.f | Clara Feld | Illustration | Picture books, some day.
    seojun | 윤서준 | 시각디자인 | 포스터와 글자.
    noah.b | Noah Brandt | Photography | Film. Usually the wrong one.
    chaewon | 임채원 | 판화 |
    lucia.r | Lucía Romero | Painting | Gouache people. Warm shadows.
    hajun | 한하준 | 조소 | 무거운 것을 가볍게.
    elif | Elif Aydın | Ceramics | Glaze chemistry, third shelf from the top.
    subin | 오수빈 | 일러스트레이션 | 고양이 말고도 그립니다.
    jonas | Jonas Lindqvist | Industrial Design | Lamps and chairs, at one fifth of their size.
    nari | 서나리 | 도예 | 백자. 말이 없는 그릇.
    amara | Amara Okafor | Textile Design | Wax print and weather.
    taeyang | 신태양 | 시각디자인 | 원과 선만으로.
    ida.k | Ida Kowalska | Printmaking | I own eleven brayers.
    yuna | 권유나 | 사진 | 해 질 무렵의 골목.
    felix.h | Felix Huang | Animation | Walk cycles. So many walk cycles.
    eunbi | 황은비 | 회화 | 크게 그리고 작게 올려요.
    sofia | Sofia Lindt | Illustration |
    gaon | 안가온 | 공예 |
    priya.n | Priya Nair | Graphic Design | Type at sizes it was not made for.
    siwoo | 송시우 | 건축 | 모형이 도면보다 먼저입니다.
    ben.o | Ben Osei | Sculpture | Plaster dust, everywhere.
    jia | 전지아 | 섬유디자인 | 조각보와 남은 천.
    marta | Marta Vidal | Painting | Still lifes that will not keep still.
    rowoon | 홍로운 | 애니메이션 |
    leo.t | Leo Tanaka | Printmaking | Registration marks tattooed on my left arm.
    bomi | 유보미 | 일러스트레이션 | 봄에 태어나서 보미.
    anouk | Anouk Meyer | Ceramics | Raku on Fridays, bring a coat.
    hyeon | 고현 | 판화 |
    sam.w | Sam Whitlock | Photography | Rooftops.
    dain | 문다인 | 도예 | 컵을 만듭니다. 커피는 못 내려요.
    ravi | Ravi Menon | Architecture |
    sebin | 양세빈 | 시각디자인 | 격자를 믿습니다.
    lotte | Lotte Visser | Textile Design | Undoing as much as I weave.
    jun.k | 김준 | 회화 |
    isla | Isla Grant | Illustration | Birds, boats, and bad weather.
    woojin | 배우진 | 조소 |
    tomas | Tomás Silva | Printmaking | Woodcut. Slow.
    ara | 백아라 | 공예 | 은과 자개.
    grace.k | Grace Kim | Graphic Design | 한글 and Latin on one baseline.
    hayoon | 남하윤 | 일러스트레이션 | 밤에 그리고 낮에 잡니다.
    emil | Emil Strand | Industrial Design |
    sora | 조소라 | 사진 |
    nadia | Nadia Rahman | Painting | Large abstract, small room.
    yeonwoo | 하연우 | 도예 |
    otto | Otto Klein | Animation | Paper puppets and tape.
    miso | 차미소 | 섬유디자인 | 천연염색 기록장.
    june.a | June Abbott | Illustration | Zines about houseplants.
    kangmin | 노강민 | 건축 |
    freya | Freya Nilsen | Ceramics |
    dahye | 심다혜 | 판화 | 동판 냄새를 좋아하면 이상한가요.
    hugo | Hugo Petit | Graphic Design | Posters for imaginary concerts.
    yejun | 곽예준 | 애니메이션 |
    zoe.c | Zoe Campbell | Textile Design |
    sumin | 성수민 | 회화 | 수채화. 물이 반.
    aiko | Aiko Mori | Printmaking | Mokuhanga, and patience.
    jihoon | 진지훈 | 조소 |
    lena.v | Lena Vogel | Photography | Fog collector.
    eunseo | 엄은서 | 일러스트레이션 |
    diego | Diego Fuentes | Painting |
    haeun | 원하은 | 공예 | 나무 숟가락 백 개에 도전 중 (41).
    willa | Willa Thorne | Illustration | Maps of places that moved.
    seoyeon | 천서연 | 시각디자인 |
    kofi | Kofi Mensah | Sculpture | Wire first, then doubt.
    minji.y | 방민지 | 섬유디자인 |
    pia | Pia Lorenz | Ceramics | Tiles, tiles, tiles.
    geon | 공건 | 판화 |
    arlo | Arlo Finch | Animation | Twelve seconds since September.
    sieun | 현시은 | 회화 |
    nour | Nour Haddad | Graphic Design | Arabic type, Latin guests.
    daon | 변다온 | 도예 |
    greta | Greta Holm | Industrial Design |
    yul | 염율 | 사진 | 필름 스캔은 새벽에.
    mateo | Mateo Cruz | Printmaking |
    seungah | 여승아 | 일러스트레이션 |
    tilda | Tilda Berg | Textile Design | Knitting is also code.
    jaemin | 추재민 | 건축 |
    rosa | Rosa Bianchi | Painting | Lemons.
    inho | 도인호 | 조소 |
    hazel | Hazel Quinn | Illustration |
    gyuri | 소규리 | 시각디자인 |
    simon.e | Simon Eze | Photography |
    bitna | 선빛나 | 공예 | 유리와 빛.
    vera | Vera Novak | Printmaking | Ink under every nail.
    hwan | 설환 | 애니메이션 |
    joan | Joan Sutter | Architecture |
    danbi | 연단비 | 도예 |
    axel | Axel Roth | Graphic Design |
    moa | 탁모아 | 판화 |
    """
}
