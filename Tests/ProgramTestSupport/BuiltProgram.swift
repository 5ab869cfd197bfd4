import Foundation

/// A program of the package, as built for these tests.
public struct BuiltProgram: Sendable {
  public let path: String

  public init(_ name: String) {
    // The tests' executable is in the same folder as all others.
    let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    path = tests.deletingLastPathComponent().appendingPathComponent(name).path
  }

  /// A program installed on the machine.
  public init(path: String) { self.path = path }

  /// A program's exit status and output.
  public struct Outcome: Sendable {
    public let status: Int32
    public let output: String
    public let errors: String

    public func json<Value: Decodable>(_ type: Value.Type) throws -> Value {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      return try decoder.decode(type, from: Data(output.utf8))
    }

    /// The document's fields, untyped.
    public func fields() throws -> [String: Any] {
      try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any] ?? [:]
    }
  }

  /// Runs the program to completion.
  ///
  /// - Parameters:
  ///   - environment: the program's variables besides `PATH`.
  ///   - folder: its current folder.
  public func run(
    _ arguments: [String], environment: [String: String] = [:], in folder: String = "/"
  ) async throws -> Outcome {
    let running = try RunningProgram.start(path, arguments, environment: environment, in: folder)
    return await running.outcome()
  }
}

/// A running program.
public final class RunningProgram: Sendable {
  private let process: Process
  private let files: (output: String, errors: String)
  private let ends: AsyncStream<Int32>

  private init(_ process: Process, _ files: (output: String, errors: String), _ ends: AsyncStream<Int32>) {
    self.process = process
    self.files = files
    self.ends = ends
  }

  static func start(
    _ path: String, _ arguments: [String], environment: [String: String], in folder: String
  ) throws -> RunningProgram {
    // Files, not pipes, so that output never blocks the program.
    let base = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    let files = (output: base + ".out", errors: base + ".err")
    for file in [files.output, files.errors] { try Data().write(to: URL(fileURLWithPath: file)) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
      .merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle(forWritingAtPath: files.output)
    process.standardError = FileHandle(forWritingAtPath: files.errors)
    let (ends, end) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = { process in
      // Signals count from 128, as in a shell.
      end.yield(process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus)
      end.finish()
    }
    try process.run()
    return RunningProgram(process, files, ends)
  }

  public var pid: pid_t { process.processIdentifier }

  public func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits for the exit status. To be called once.
  public func outcome() async -> BuiltProgram.Outcome {
    var status: Int32 = -1
    for await end in ends { status = end }
    defer { for file in [files.output, files.errors] { unlink(file) } }
    return BuiltProgram.Outcome(status: status, output: Self.read(files.output), errors: Self.read(files.errors))
  }

  /// The output to standard error so far.
  public var errorsSoFar: String { Self.read(files.errors) }

  private static func read(_ file: String) -> String {
    String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
  }
}

extension BuiltProgram {
  /// Starts the program.
  public func start(
    _ arguments: [String] = [], environment: [String: String] = [:], in folder: String = "/"
  ) throws -> RunningProgram {
    try RunningProgram.start(path, arguments, environment: environment, in: folder)
  }
}
