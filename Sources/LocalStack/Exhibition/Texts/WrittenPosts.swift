/// What the demo's students post, and what others answer: read from texts that are easy to write and to proof-read.
///
/// A post begins with `* DESIGN`, and the number of its pictures if there are more than one; `talk` has none. Then come
/// the title, the description, and the comments: `>` before a reader's, `<` before the author's own.
struct WrittenPost: Sendable, Hashable {
  struct Comment: Sendable, Hashable {
    let isOwn: Bool
    let text: String
  }

  /// nil for a post without pictures.
  var design: Print.Design?
  var pictures = 0
  /// Whether it is the visitor's.
  var isVisitors = false
  var title = ""
  var description = ""
  var comments: [Comment] = []

  var isKorean: Bool { title.unicodeScalars.contains { 0xAC00...0xD7A3 ~= $0.value } }
}

enum WrittenPosts {
  /// All posts, in the order of the texts.
  static let all: [WrittenPost] = [english, korean, short, talk].flatMap(read)

  static func read(_ text: String) -> [WrittenPost] {
    var posts: [WrittenPost] = []
    for line in text.split(separator: "\n") where line.contains(where: { !$0.isWhitespace }) {
      if line.hasPrefix("* ") {
        posts.append(start(line.dropFirst(2).split(separator: " ").map(String.init)))
        continue
      }
      guard var post = posts.popLast() else { continue }
      if line.hasPrefix("> ") || line.hasPrefix("< ") {
        post.comments.append(WrittenPost.Comment(isOwn: line.hasPrefix("<"), text: String(line.dropFirst(2))))
      } else if post.title.isEmpty {
        post.title = String(line)
      } else {
        post.description += (post.description.isEmpty ? "" : "\n") + line
      }
      posts.append(post)
    }
    return posts
  }

  private static func start(_ words: [String]) -> WrittenPost {
    var post = WrittenPost()
    post.isVisitors = words.first == "visitor"
    let design = words.compactMap { word in Print.Design.allCases.first { "\($0)" == word } }.first
    guard let design else { return post }
    post.design = design
    post.pictures = words.last.flatMap { Int($0) } ?? 1
    return post
  }
}
