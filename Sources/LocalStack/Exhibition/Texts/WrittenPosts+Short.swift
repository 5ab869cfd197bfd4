extension WrittenPosts {
  static let short = """
    * hills
    Before the rain
    > The third ridge is my favourite.

    * discs
    Pink over blue, at last
    > That overlap! What are the two inks?
    < Fluorescent pink and medium blue, pink first.

    * leaves
    Pressed, then drawn

    * tiles
    Rearranged after dinner
    > Which tile did you turn? It's so much calmer.

    * waves
    Cloth for a long table
    > I want to eat soup off this.

    * vessels
    A family, arguing
    > The small one started it.

    * windows
    Roofs of other people
    > Some of them have very good light.

    * rays
    Loud one

    * terrazzo
    Chips and a good floor

    * cutouts
    Four fields

    * portrait
    Model, second session
    > You got the tilt of the head this time.

    * hills
    Walking home the long way
    > Is that the path by the quarry?
    < Yes! From the bench without a back.

    * leaves
    Green on green on green
    > How many greens is that?
    < Two. The paper does the third.

    * discs
    Balance, more or less

    * waves
    Roof of the old market

    * tiles
    Study in quarter circles
    > I could look at this all day.

    * vessels
    Bought the flowers, made the rest

    * windows
    작은 도시
    > 창문마다 이야기가 있을 것 같아요.

    * hills
    첫 리소 출력
    > 첫 출력이 이 정도라니요.
    < 기계가 다 했습니다.

    * portrait
    우리 과 조교님
    > 조교님 보셨어요?
    < 아직요. 무섭습니다.

    * leaves
    비 온 뒤

    * discs
    겹치고 또 겹치고
    > 겹친 곳의 갈색이 예뻐요.

    * cutouts
    남은 색종이로

    * waves
    천 위에 옮기기 전
    """
}
