/// The words that two people compare: 256 words, one per byte value.
enum AgreementWords {
  /// Four words, 32 bits: a man in the middle has one guess, and must commit to it before seeing the nonces.
  static func of(_ transcript: [UInt8]) -> [String] {
    Digest.of("fanmill agreement words 1", transcript).prefix(4).map { list[Int($0)] }
  }

  static let list: [String] = """
    acorn amber anchor apple april arrow aspen autumn bacon badge bagel baker bamboo banjo barley basil \
    basket beacon beaver berry bison blanket blossom bottle branch bread breeze brick bridge bronze brook bubble \
    bucket butter button cabin cactus camel camera candle canoe canvas carbon carpet carrot castle cedar cello \
    cherry chess cider cinema circle citrus clay clever cliff clock clover cobalt cocoa comet copper coral \
    cotton crane crater cricket crystal cypress daisy dancer delta denim desert diamond dolphin donkey dragon drum \
    eagle early echo elbow ember emerald engine falcon feather fennel fern fiddle field finch flame flute \
    forest fossil fountain fox galaxy garden garlic gentle ginger giraffe glacier globe goose grape gravel guitar \
    hammer harbour harvest hazel helmet heron hickory honey horizon hotel humble iceberg indigo iris island ivory \
    jacket jasmine jelly jigsaw journal jungle kettle kitten koala ladder lagoon lantern laurel lemon lentil library \
    lilac linen lion lizard lobster lotus lunar magnet mango maple marble marigold market meadow melon meteor \
    mint mirror monkey mosaic mountain mule mustard nectar nickel noodle north nutmeg oak oasis ocean olive \
    onion opal orbit orchid otter oyster paddle palm panda paper parrot peach pebble pepper piano pigeon \
    pilot pine planet plum pocket pony poppy potato prairie pumpkin purple quartz quiet rabbit radio rainbow \
    raven ribbon river robin rocket rose ruby saddle saffron salmon sandal saturn scarf seal shadow silver \
    sister sparrow spider spiral spruce squash stable station summer sunset swan table tango temple thunder tiger \
    timber toast tomato trumpet tulip tundra turtle umbrella valley velvet violet walnut willow window yellow zebra
    """.split(separator: " ").map(String.init)
}
