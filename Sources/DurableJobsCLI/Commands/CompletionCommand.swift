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
      commandName: "completion", abstract: "Print the script by which a shell completes the program's commands.",
      discussion: """
        bash: source <(\(P.path) completion bash), or into /etc/bash_completion.d/\(P.path). zsh: into _\(P.path) in a \
        folder of $fpath. fish: into ~/.config/fish/completions/\(P.path).fish.
        """)
  }

  @Argument(help: "bash, zsh or fish.") var shell: Shell

  func run() {
    print(P.root.completionScript(for: shell.shell))
  }
}
