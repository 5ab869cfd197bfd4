extension WrittenPosts {
  static let english = """
    * leaves
    The fig by the kitchen window
    Three layers, two of them by accident. The blue slipped half a millimetre and I decided to like it.
    > What paper is that? It takes the ink beautifully.
    < Munken Pure, 120 g. It drinks more ink than it should.
    > The slip makes it. Please never fix it.

    * hills 2
    Two mornings above the reservoir
    Same place, Tuesday and Wednesday. I only changed the second drum.
    > Wednesday wins by a mile.
    > I'd hang them side by side, the pair is the point.
    < That is the plan for the corridor. Come on the 12th!

    * vessels
    Three that survived the bisque
    There were seven.
    > RIP the other four. What happened?
    < A kiln shelf with opinions.
    > The one in the middle has the best shoulders in the department.

    * tiles
    Floor for a house without rooms
    Every tile can lie in four directions, and I never planned any of them. There is a rule, but I forgot it.
    > I have been looking for the rule for ten minutes.
    < If you find it, write it down for me.
    > Would love this as an actual floor.

    * discs
    Concert poster, second try
    The first one had words.
    > Better without. Who needs to know when it starts?
    < The band, apparently.

    * windows
    My street at ten past nine
    I counted the lit windows for a week. Nineteen, on average.
    > The moon over the third roof is such a quiet joke.
    > Did you trace or draw from memory?
    < From memory, then I walked down and corrected two roofs.

    * portrait
    Nadia, pretending to read
    She held the book upside down for forty minutes and did not notice.
    > I noticed. I was being polite.
    > That collar is perfect.
    > The blush! Teach me.
    < It is one circle of pink at half strength, nothing more.

    * waves
    Repeat no. 14
    Finally a repeat in which I cannot find the seam. The darker row is on purpose.
    > Is this for the scarf or for the walls?
    < Scarf first. Walls when somebody gives me walls.

    * terrazzo
    Scraps from the paper cutter
    I swept the bench and scanned what I found.
    > So this is where my yellow went.
    < Come and collect it. Small bags only.

    * rays
    Opening night
    Poster for the print fair. They wanted happy, so I gave them a sun with a hole.
    > I can hear this.
    > When is it?
    < Saturday from two, in the courtyard if it stays dry.

    * cutouts
    After lunch, with scissors
    No drawing, no plan. Six colours and a pair of kitchen scissors.
    > The one in the lower left looks like my aunt.
    > More of these, please.

    * hills
    Ridge line from the night train
    Drawn with the phone as the only lamp.
    > You can feel the window vibrating.
    < That was the espresso.

    * vessels
    Glaze test 31: finally a green
    Copper, a little tin, and a slower cool. The belly came out darker than the neck, which is why I do this.
    > Cone 6 or 10?
    < 6, in the old electric one. Hold at the top for twenty minutes.
    > Sharing the recipe? Asking for a friend who is me.
    < It's on the board next to the spray booth.

    * leaves 3
    Weeds from the car park
    Things that grow between the slabs behind the studio. I don't know any of their names.
    > First one is mugwort, I think.
    > The third is definitely trouble.
    < Then it stays in the car park.

    * portrait
    Self-portrait with the new glasses
    They are rounder than I am used to.
    > The hair is exactly right and I'm a little upset about it.
    > Suits you!

    * discs 2
    Studies in leaning
    How far can a circle lean before it falls? Further in blue than in pink.
    > I don't know why this is true but it is.
    > Second one is about to hit the floor.

    * windows
    Elevation, if money were no object
    Every flat gets its own roof.
    > My professor would ask about drainage.
    < Mine did.

    * tiles 2
    Kitchen wall, full size next week
    Eight glazes, two moulds. The white ones are the clay itself.
    > Where do you fire 300 tiles?
    < In nineteen evenings.
    > Save me the ones that fail, I collect them.

    * hills
    Postcard to my brother
    He asked what the weather is like here. Sometimes this.
    > I'd write back.

    * rays
    Test print, wrong drum
    Orange went where the blue should go. Keeping it.
    > Accidents 1, plans 0.
    > Please make this one the cover.

    * waves
    Sea for a very small book
    Twelve pages, one wave a page. This is page seven, where it gets rough.
    > How do you bind it?
    < Pamphlet stitch, three holes, red thread.

    * cutouts
    Flowers that do not exist
    For a botanist who knows everything. Let's see.
    > Bottom right is a cousin of the passion flower, sorry.
    < Noooo.

    * vessels 2
    Shelf, before and after
    One week of throwing. On the second picture somebody put dry branches in, and now I can't imagine it without.
    > That somebody has taste.
    > It was me. I regret nothing.

    * leaves
    Study for a curtain
    Enlarged until the stem is as wide as my hand.
    > Linen or cotton?
    < Linen, so that it hangs heavy.

    * terrazzo
    What the floor of the old cinema looked like
    From memory. They tore it out in spring.
    > I remember the pink ones by the stairs!
    < Those are the ones I started with.

    * windows
    Power cut, third floor only
    The whole house dark except for the people who own candles.
    > The warm ones make me want to move in.

    * portrait
    The bus driver of line 9
    He says good morning to every single person.
    > He really does. He'd love this, you should print him one.
    < Going to. Wish me courage.

    * discs
    Nine minutes of sunset
    One disc a minute, and one that I missed.
    > Which one did you miss?
    < Six. I was looking at the bird.

    * hills
    Layers, layers, layers
    Five drums, six hours, one usable print.
    > Worth every hour.
    > Which is the fifth colour? I count four.
    < A thin grey under the pink. You see it only if it's missing.

    * tiles
    Quilt for a typographer
    > I can read an S and a lot of commas.
    < Then it works.

    * rays
    For Edith, who likes noise

    * leaves
    Nothing but stems
    > The restraint. How.

    * waves
    Indigo, four dips
    > You can nearly smell the vat.

    * cutouts
    Calendar, page for May

    * hills
    The hill behind the supermarket
    It deserves better neighbours.
    > It has one now.

    * vessels
    Short one, tall one
    > Are these for sale?
    < The tall one. The short one is promised to my mother.

    * discs
    Slow traffic
    > I hear a bicycle bell.

    * terrazzo
    Confetti, the morning after

    * portrait
    Commission: a very serious child
    She approved of the hair, not of the ears.
    > There are no ears?
    < Exactly her point.

    * windows
    Sketch for a backdrop
    > For the puppet piece? The roofs could move separately.
    < They will. Each one is on its own stick.

    * tiles
    Another rule, another floor

    * leaves
    Late September
    > This palette should be illegal.

    * rays 2
    Two covers for the same zine
    Vote, please.
    > First.
    > Second, and I will not discuss it.
    > First, but with the colours of the second.
    < You are no help at all.

    * hills
    Fog on the second layer

    * cutouts
    Leftovers
    > Matisse called, he wants to trade.

    * waves
    Lining for the inside of a coat
    Nobody will see it except the person who wears it.
    > That is the best kind of pattern.

    * vessels
    Vase with somewhere to be

    * discs
    Grey day, warm drum
    > I like how the grain eats the edge.

    * visitor hills
    First print on this wall
    Hello! I came to look around and stayed for the colours.
    > Welcome! That sun is a good start.
    > Hello Robin. Which machine did you use?
    < The old one in the basement. It smells of summer holidays.
    > 환영해요!

    * visitor leaves
    What grew on my balcony
    Mint, mint, and something that is not mint.
    > It is always mint in the end.
    > The not-mint is lovely.

    * visitor portrait
    My neighbour and her new haircut
    She asked for a copy, so I must have done something right.
    > The fringe is everything.
    > I want to know her now.
    > 앞머리 너무 귀여워요.
    """
}
