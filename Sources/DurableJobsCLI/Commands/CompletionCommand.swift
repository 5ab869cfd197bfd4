import ArgumentParser

struct CompletionCommand<P: QueueProgram>: ParsableCommand, Sendable {
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

  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "completion", abstract: "Print a shell's completion script for the program.",
      discussion: """
        bash: source <(\(P.path) completion bash), or save it as /etc/bash_completion.d/\(P.path). zsh: save it as \
        _\(P.path) in a folder of $fpath. fish: save it as ~/.config/fish/completions/\(P.path).fish.
        """)
  }

  @Argument(help: "bash, zsh or fish.") var shell: Shell

  func run() {
    print(P.root.completionScript(for: shell.shell))
  }
}
