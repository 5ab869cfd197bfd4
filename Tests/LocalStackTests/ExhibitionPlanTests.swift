import Testing

@testable import LocalStack

@Suite("The plan of the kept demo")
struct ExhibitionPlanTests {
  @Test("It is the same each time, whatever the number of accounts", arguments: [10, 37, 100])
  func isTheSame(accounts: Int) {
    let plan = ExhibitionPlan(accounts: accounts)
    #expect(plan == ExhibitionPlan(accounts: accounts))
    #expect(plan.students.count == accounts && Set(plan.students.map(\.username)).count == accounts)
    #expect(plan.steps.count == plan.posts.count)
  }

  @Test("Posts are in the order of their times, and no two pictures are the same")
  func posts() {
    let plan = ExhibitionPlan()
    #expect(zip(plan.posts, plan.posts.dropFirst()).allSatisfy { $0.age > $1.age })
    #expect(plan.posts.allSatisfy { 0 < $0.age && $0.age < ExhibitionPlan.days })
    let prints = plan.posts.flatMap(\.prints)
    #expect(Set(prints).count == prints.count && prints.count > 100)
    #expect(plan.posts.count { $0.author == ExhibitionPlan.visitor } == 3)
    #expect(Set(plan.posts.map(\.title)).count == plan.posts.count)
  }

  @Test(
    "Nothing answers what is not there yet, and nobody follows, likes or writes to themselves", arguments: [10, 100])
  func order(accounts: Int) {
    let plan = ExhibitionPlan(accounts: accounts)
    for (number, step) in plan.steps.enumerated() {
      #expect(step.likes.allSatisfy { $0.other <= number && plan.posts[$0.other].author != $0.account })
      #expect(step.comments.allSatisfy { $0.post <= number })
      #expect(step.follows.allSatisfy { $0.account != $0.other })
      #expect(step.messages.allSatisfy { $0.sender != $0.recipient })
    }
    let comments = plan.steps.flatMap(\.comments)
    for (post, thread) in Dictionary(grouping: comments, by: \.post) {
      #expect(thread.map(\.number) == Array(thread.indices), "the thread of post \(post) is out of order")
    }
    let follows = plan.steps.flatMap(\.follows)
    #expect(Set(follows).count == follows.count)
    let likes = plan.steps.flatMap(\.likes)
    #expect(Set(likes).count == likes.count)
  }

  @Test("A thread's own lines are the author's, and the others are not")
  func threads() {
    let plan = ExhibitionPlan()
    let written = Dictionary(uniqueKeysWithValues: WrittenPosts.all.map { ($0.title, $0) })
    for comment in plan.steps.flatMap(\.comments) {
      let post = plan.posts[comment.post]
      #expect(written[post.title]?.comments[comment.number].isOwn == (comment.writer == post.author))
    }
  }

  @Test("A written post is read with its title, its description and its thread")
  func reading() throws {
    let posts = WrittenPosts.read("* hills 2\nTwo\nFirst line\nSecond line\n> Why?\n< Because.\n\n* talk\nOne\n")
    let (first, second) = (try #require(posts.first), try #require(posts.last))
    #expect(posts.count == 2)
    #expect(first.design == .hills && first.pictures == 2 && first.title == "Two")
    #expect(first.description == "First line\nSecond line")
    #expect(first.comments.map(\.text) == ["Why?", "Because."] && first.comments.map(\.isOwn) == [false, true])
    #expect(second.design == nil && second.pictures == 0 && second.title == "One")
  }

  @Test("All texts fit the rules of the API")
  func rules() {
    for post in WrittenPosts.all {
      #expect((1...200).contains(post.title.count) && post.description.count <= 20_000)
      #expect(post.pictures <= 10 && post.comments.allSatisfy { (1...2000).contains($0.text.count) })
    }
    for talk in WrittenTalks.all { #expect(talk.speakers.count == 2) }
    let names = Set(Student.all(100, seed: 1).map(\.username))
    #expect(WrittenTalks.all.allSatisfy { names.isSuperset(of: $0.speakers) })
  }
}
