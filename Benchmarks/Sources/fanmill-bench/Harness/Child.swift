import Foundation
import Glibc

/// A child process that the benchmark starts and stops; it dies with the benchmark.
final class Child: Sendable {
  /// CPU time and memory, as the kernel counts them.
  struct Usage: Sendable {
    var processorSeconds: Double
    var residentMegabytes: Double
    var peakMegabytes: Double
  }

  let pid: pid_t
  private let process: Process

  private init(_ process: Process) {
    self.process = process
    pid = process.processIdentifier
  }

  /// - Parameters:
  ///   - words: the program's path and its arguments.
  ///   - output: the file for its standard output; nil discards it. It shares our standard error.
  static func start(
    _ words: [String], environment: [String: String] = [:], output: FileHandle? = nil
  ) async throws -> Child {
    try await withCheckedThrowingContinuation { continuation in
      // A thread that lives as long as the child, since the kernel sends the parent-death signal when the thread ends.
      let thread = Thread {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = ["--pdeathsig", "KILL", "--"] + words
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output ?? FileHandle.nullDevice
        do {
          try process.run()
          continuation.resume(returning: Child(process))
          process.waitUntilExit()
        } catch {
          continuation.resume(throwing: error)
        }
      }
      thread.name = "child"
      thread.start()
    }
  }

  var isRunning: Bool { process.isRunning }

  /// Sends SIGTERM, waits, and kills the process after ten seconds.
  func stop() async throws {
    if process.isRunning { kill(pid, SIGTERM) }
    let deadline = ContinuousClock.now + .seconds(10)
    while process.isRunning, .now < deadline { try await Task.sleep(for: .milliseconds(5)) }
    if process.isRunning { kill(pid, SIGKILL) }
    try await wait()
  }

  /// Waits for the process to exit and returns its status.
  @discardableResult
  func wait() async throws -> Int32 {
    while process.isRunning { try await Task.sleep(for: .milliseconds(5)) }
    return process.terminationStatus
  }

  /// Runs a program to completion and returns its output.
  static func output(_ words: [String], environment: [String: String] = [:]) async throws -> String {
    let pipe = Pipe()
    let child = try await Child.start(words, environment: environment, output: pipe.fileHandleForWriting)
    try pipe.fileHandleForWriting.close()
    let reading = pipe.fileHandleForReading
    let data = try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try reading.readToEnd() ?? Data() }) }
    }
    let status = try await child.wait()
    guard status == 0 else { throw BenchError("\(words.joined(separator: " ")) ended with status \(status)") }
    return String(decoding: data, as: UTF8.self)
  }

  /// - Throws: if the process has exited.
  func usage() throws -> Usage {
    let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    // After the name in parentheses, which may contain blanks: utime and stime are the 12th and 13th (proc(5)).
    let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
      throw BenchError("/proc/\(pid)/stat is not as expected")
    }
    func kilobytes(_ name: String) -> Double {
      let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
      return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0
    }
    return Usage(
      processorSeconds: (user + system) / Double(sysconf(Int32(_SC_CLK_TCK))),
      residentMegabytes: kilobytes("VmRSS") / 1024, peakMegabytes: kilobytes("VmHWM") / 1024)
  }
}
