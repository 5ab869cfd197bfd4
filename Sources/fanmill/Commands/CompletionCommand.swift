import ArgumentParser

struct CompletionCommand: ParsableCommand, Sendable {
  enum Shell: String, ExpressibleByArgument, CaseIterable, Sendable {
    case bash, zsh, fish

    var shell: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "Print the script by which a shell completes fanmill's commands.",
    discussion: """
      bash: source <(fanmill completion bash), or into /etc/bash_completion.d/fanmill. zsh: into _fanmill in a folder of $fpath. \
      fish: into ~/.config/fish/completions/fanmill.fish. `make install` puts all three in their places.
      """)
  @Argument(help: "bash, zsh or fish.") var shell: Shell

  func run() {
    print(Fanmill.completionScript(for: shell.shell))
  }
}
