import Foundation

/// All that the demo puts into a stack, decided before anything is sent, and the same in every run.
///
/// Accounts are indices of `students`, posts indices of `posts`. Steps happen one after the other; each begins with a
/// post, and what answers it follows in the same step or a later one.
struct ExhibitionPlan: Sendable, Hashable {
  struct Post: Sendable, Hashable {
    let author: Int
    let title: String
    let description: String
    let prints: [Print]
    /// How long ago it was made, in days.
    let age: Double
  }

  struct Comment: Sendable, Hashable {
    let post: Int
    /// Its place in the thread.
    let number: Int
    let writer: Int
    let text: String
  }

  struct Pair: Sendable, Hashable {
    let account: Int
    /// The post that is liked, or the account that is followed.
    let other: Int
  }

  struct Message: Sendable, Hashable {
    let talk: Int
    let number: Int
    let sender: Int
    let recipient: Int
    let text: String
  }

  struct Step: Sendable, Hashable {
    var follows: [Pair] = []
    var likes: [Pair] = []
    /// In the order in which they are written.
    var comments: [Comment] = []
    var messages: [Message] = []
    /// Whether the visitor looks at the notifications.
    var isChecked = false
  }

  static let visitor = 0
  /// How many days the posts cover.
  static let days = 14.0
  private static let seed: UInt64 = 2024
  /// When the visitor comes, as a part of the steps.
  private static let arrival = 0.68

  private(set) var students: [Student]
  private(set) var posts: [Post] = []
  /// As many as posts.
  private(set) var steps: [Step] = []
  /// The conversations whose last messages the visitor has not read.
  private(set) var unreadTalks: Set<Int> = []
  let hearts: ExhibitionHearts

  private var followers: [Set<Int>] = []

  /// - Parameter accounts: how many; 10 to 100. Fewer have fewer posts in the same proportion.
  init(accounts: Int = 100) {
    students = Student.all(accounts, seed: Self.seed)
    hearts = ExhibitionHearts(accounts: students.count, seed: Self.seed)
    addPosts()
    steps = Array(repeating: Step(), count: posts.count)
    addFollows()
    addComments()
    addLikes()
    addTalks()
    steps[place(0.86)].isChecked = true
  }

  private var written: [WrittenPost] = []

  /// The step at a part of all.
  private func place(_ part: Double) -> Int { min(Int(part * Double(posts.count)), posts.count - 1) }

  // MARK: Posts

  private mutating func addPosts() {
    var numbers = SeededNumbers(seed: Self.seed, stream: 1)
    let share = max(1, 100 / max(students.count, 1))
    let others = WrittenPosts.all.filter { !$0.isVisitors }.enumerated().filter { $0.offset % share == 0 }
    written = numbers.shuffled(others.map(\.element))
    for (post, part) in zip(WrittenPosts.all.filter(\.isVisitors), [0.72, 0.83, 0.94]) {
      written.insert(post, at: min(Int(part * Double(written.count)), written.count))
    }
    var made = [Int](repeating: 0, count: students.count)
    for (index, post) in written.enumerated() {
      let author = post.isVisitors ? Self.visitor : author(of: post, made, &numbers)
      made[author] += 1
      // More of them lately; the newest is a quarter of an hour old.
      let part = (Double(index) + numbers.between(0, 0.8)) / Double(written.count)
      let age = 0.01 + (Self.days - 0.1) * pow(1 - part, 1.25)
      posts.append(
        Post(
          author: author, title: post.title, description: post.description, prints: prints(of: post, &numbers), age: age
        ))
    }
  }

  private func author(of post: WrittenPost, _ made: [Int], _ numbers: inout SeededNumbers) -> Int {
    let speakers = students.indices.filter { $0 != Self.visitor && students[$0].isKorean == post.isKorean }
    let makers = post.design.map { design in speakers.filter { students[$0].makes(design) } } ?? speakers
    // Some post more than others, and none all of it.
    let ranked = (makers.isEmpty ? speakers : makers).map { ($0, Double(made[$0]) + numbers.unit() * 2.2) }
    return ranked.min { $0.1 < $1.1 }?.0 ?? Self.visitor
  }

  private func prints(of post: WrittenPost, _ numbers: inout SeededNumbers) -> [Print] {
    guard let design = post.design else { return [] }
    // The pictures of a post belong together.
    let shape = numbers.pick(Print.Shape.allCases)
    let palette = numbers.below(PrintPalette.all.count)
    return (0..<post.pictures).map { number in
      Print(design: design, shape: shape, palette: palette + (number % 2) * numbers.below(2), seed: numbers.next())
    }
  }

  // MARK: Follows

  private mutating func addFollows() {
    var numbers = SeededNumbers(seed: Self.seed, stream: 2)
    followers = Array(repeating: [], count: students.count)
    // A few are followed by most, most by some.
    let ranks = numbers.shuffled(Array(students.indices))
    let weights = ranks.map { 1 / pow(Double($0) + 3, 0.7) }
    for follower in students.indices {
      let isVisitor = follower == Self.visitor
      let count = min(isVisitor ? 40 : 10 + numbers.below(21), (students.count - 1) * (isVisitor ? 8 : 5) / 10)
      let chosen = students.indices.filter { $0 != follower }.map { ($0, pow(numbers.unit(), 1 / weights[$0])) }
        .sorted { $0.1 > $1.1 }.prefix(count).map(\.0)
      for followee in chosen {
        followers[followee].insert(follower)
        let part: Double
        if isVisitor {
          part = Self.arrival + numbers.between(0, 0.1)
        } else if followee == Self.visitor {
          part = numbers.between(Self.arrival + 0.04, 1)
        } else {
          // Most knew one another before.
          part = numbers.chance(40) ? 0 : numbers.unit()
        }
        steps[place(part)].follows.append(Pair(account: follower, other: followee))
      }
    }
  }

  // MARK: Comments and likes

  private mutating func addComments() {
    var numbers = SeededNumbers(seed: Self.seed, stream: 3)
    for (index, post) in posts.enumerated() {
      var writers: Set<Int> = [post.author]
      var step = index
      for (number, comment) in written[index].comments.enumerated() {
        step = min(step + numbers.below(3), posts.count - 1)
        let writer =
          comment.isOwn ? post.author : reader(of: post, comment.text, besides: writers, step: step, &numbers)
        writers.insert(writer)
        steps[step].comments.append(Comment(post: index, number: number, writer: writer, text: comment.text))
      }
    }
  }

  /// Who comments: an account that writes this language, rather a follower of the author.
  private func reader(
    of post: Post, _ text: String, besides: Set<Int>, step: Int, _ numbers: inout SeededNumbers
  ) -> Int {
    let isKorean = text.unicodeScalars.contains { 0xAC00...0xD7A3 ~= $0.value }
    let all = students.indices.filter { !besides.contains($0) && $0 != Self.visitor }
    let speakers = all.filter { students[$0].isKorean == isKorean }
    let near = speakers.filter { followers[post.author].contains($0) }
    let choice = near.isEmpty ? (speakers.isEmpty ? all : speakers) : near
    return choice.isEmpty ? post.author : numbers.pick(choice)
  }

  private mutating func addLikes() {
    var numbers = SeededNumbers(seed: Self.seed, stream: 4)
    for (index, post) in posts.enumerated() {
      // A few posts are liked by half of all, most by some.
      let share = (post.prints.isEmpty ? 0.02 : 0.05) + 0.5 * pow(numbers.unit(), post.prints.isEmpty ? 5 : 2.4)
      let count = Int((share * Double(students.count - 1)).rounded())
      let likers = students.indices.filter { $0 != post.author }
        .map { ($0, numbers.unit() * (followers[post.author].contains($0) ? 0.35 : 1)) }
        .sorted { $0.1 < $1.1 }.prefix(count).map(\.0)
      for liker in likers {
        // Half of the likes come soon, the rest over days. What is new has not been seen by all.
        let delay = Int(pow(numbers.unit(), 3) * 0.25 * Double(posts.count))
        let step = liker == Self.visitor ? max(index + delay, place(Self.arrival)) : index + delay
        if step < posts.count { steps[step].likes.append(Pair(account: liker, other: index)) }
      }
    }
  }

  // MARK: Messages

  private mutating func addTalks() {
    var numbers = SeededNumbers(seed: Self.seed, stream: 5)
    let names = Dictionary(uniqueKeysWithValues: students.enumerated().map { ($1.username, $0) })
    for (talk, written) in WrittenTalks.all.enumerated() {
      let speakers = written.speakers.compactMap { names[$0] }
      guard speakers.count == 2 else { continue }
      var part = numbers.between(Self.arrival + 0.06, 0.84)
      for (number, line) in written.lines.enumerated() {
        part = min(0.999, part + numbers.between(0.005, 0.04))
        let sender = names[line.sender] ?? speakers[0]
        steps[place(part)].messages.append(
          Message(
            talk: talk, number: number, sender: sender, recipient: speakers[0] + speakers[1] - sender, text: line.text))
      }
      if written.isUnread { unreadTalks.insert(talk) }
    }
  }
}
