import Foundation
import Glibc
import TestSupport
import Testing

@testable import Social

/// A small program in Perl, which every Debian includes, attempts to break each confinement.
@Suite(.timeLimit(.minutes(2))) struct ConfinedProcessTests {
  private let folder: PictureFolder
  private let work: String

  init() throws {
    folder = try PictureFolder()
    work = try folder.folder("work")
  }

  private func perl(
    _ program: String, reading readable: [String] = [], _ change: (inout ConfinedProcess.Limits) -> Void = { _ in }
  ) async throws -> ConfinedProcess.Outcome {
    var limits = ConfinedProcess.Limits()
    change(&limits)
    // Perl opens /dev/null before a program given on its command line.
    return try await ConfinedProcess(
      program: "/usr/bin/perl", arguments: ["-e", program], environment: ["LC_ALL": "C"], folder: work,
      readable: readable + ["/dev/null"], limits: limits
    ).run()
  }

  private func expect(
    _ program: String, reading readable: [String] = [], prints text: String,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let outcome = try await perl(program, reading: readable)
    #expect(outcome.ending == .exited(0) && outcome.output == text, "\(outcome)", sourceLocation: location)
  }

  // MARK: What it does

  @Test func aProgramRunsInItsFolderWithItsEnvironment() async throws {
    try folder.write(Array("told".utf8), to: "told.txt")
    let outcome = try await ConfinedProcess(
      program: "/bin/sh",
      arguments: ["-c", "read line < \"$1\"; echo $NAME $line > made; pwd; exit 3", "sh", folder["told.txt"]],
      environment: ["NAME": "value"], folder: work, readable: [folder["told.txt"]]
    ).run()
    #expect(outcome.ending == .exited(3) && outcome.output == work + "\n", "\(outcome)")
    #expect(try folder.bytes("work/made") == Array("value told\n".utf8))
  }

  private static let printsStatus = "open my $status, '<', '/proc/self/status' or die $!; print <$status>"

  @Test func itLeavesTheFirstProcessorToOthers() async throws {
    let outcome = try await perl(Self.printsStatus, reading: ["/proc"])
    #expect(try processors(outcome.output) == allButTheFirst())
  }

  @Test func inAControlGroupItLeavesTheFirstProcessorToo() async throws {
    // Like the kernel's: a write to the file names the process that joins.
    try folder.write([], to: "cgroup.procs")
    let group = ControlGroup(path: folder["."])
    #expect(group.isJoinable)
    let outcome = try await ConfinedProcess(
      program: "/usr/bin/perl", arguments: ["-e", Self.printsStatus], environment: ["LC_ALL": "C"], folder: work,
      readable: ["/dev/null", "/proc"], controlGroup: group
    ).run()
    #expect(try folder.bytes("cgroup.procs") == Array("0".utf8))
    #expect(try processors(outcome.output) == allButTheFirst())
  }

  /// This thread's processors without the first; the only one, if it has one.
  private func allButTheFirst() throws -> [Int] {
    let own = try processors(String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8))
    return own.count > 1 ? Array(own.dropFirst()) : own
  }

  private func processors(_ status: String) throws -> [Int] {
    let list = try #require(status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") })
    return list.split(separator: "\t")[1].split(separator: ",").flatMap { range -> [Int] in
      let ends = range.split(separator: "-").compactMap { Int($0) }
      return ends.count == 2 ? Array(ends[0]...ends[1]) : ends
    }
  }

  @Test func theEndOfItsOutputIsKept() async throws {
    let outcome = try await perl("print STDERR 'x' x 3_000_000, 'the end'; close STDOUT; close STDERR")
    #expect(outcome.ending == .exited(0))
    #expect(outcome.output.hasSuffix("xthe end") && outcome.output.utf8.count == 8192)
  }

  @Test func aSignalIsReported() async throws {
    // An invalid pointer.
    #expect(try await perl("unpack('p', pack('Q', 1))").ending == .signalled(SIGSEGV))
  }

  @Test func whatCannotStartSaysWhere() async throws {
    func start(
      _ program: String, readable: [String] = [], folder: String, in group: ControlGroup? = nil
    ) async -> ConfinementError? {
      do {
        _ = try await ConfinedProcess(
          program: program, arguments: [], environment: [:], folder: folder, readable: readable,
          controlGroup: group
        ).run()
        return nil
      } catch { return error as? ConfinementError }
    }
    #expect(await start("/nowhere/vips", folder: work) == ConfinementError(step: "exec", number: ENOENT))
    #expect(await start("/usr/bin/perl", folder: folder["none"])?.number == ENOENT)
    let missing = ControlGroup(path: folder["none"])
    #expect(!missing.isJoinable)
    #expect(
      await start("/usr/bin/perl", folder: work, in: missing)
        == ConfinementError(step: "control group", number: ENOENT))
    if ConfinedProcess.landlockVersion > 0 {
      #expect(
        await start("/usr/bin/perl", readable: [folder["none"]], folder: work)
          == ConfinementError(step: "Landlock", number: ENOENT))
    }
  }

  // MARK: What it is denied

  @Test func socketsAreDenied() async throws {
    try await expect("print socket(S, 2, 1, 0) ? 'open' : $!", prints: "Operation not permitted")
    try await expect("print socket(S, 1, 1, 0) ? 'open' : $!", prints: "Operation not permitted")
    try await expect("print socketpair(S, T, 1, 1, 0) ? 'open' : $!", prints: "Operation not permitted")
  }

  @Test func processesAreDenied() async throws {
    try await expect(
      "my $pid = fork; exit 0 if defined $pid && !$pid; print $pid // $!", prints: "Operation not permitted")
    // Another way into the kernel: posix_spawn and vfork.
    let outcome = try await ConfinedProcess(
      program: "/bin/sh", arguments: ["-c", "/bin/true; exit 0"], environment: [:], folder: work
    ).run()
    #expect(outcome.output.contains("Cannot fork"), "\(outcome)")
  }

  @Test func otherProcessesAreOutOfReach() async throws {
    try await expect("print kill(0, getppid) ? 'reached' : $!", prints: "Operation not permitted")
    // Landlock and missing capabilities protect other processes; the filter does not check the target.
    try await expect("print kill(0, $$) ? 'reached' : $!", prints: "Operation not permitted")
    try await expect("print setpriority(0, 0, 1) ? 'changed' : $!", prints: "Operation not permitted")
  }

  @Test(.enabled(if: ConfinedProcess.landlockVersion > 0)) func otherProgramsAreDenied() async throws {
    try await expect("exec { '/bin/cat' } 'cat', '/dev/null' or print $!", prints: "Permission denied")
  }

  @Test(.enabled(if: ConfinedProcess.landlockVersion > 0)) func otherFilesCannotBeRead() async throws {
    let secret = try folder.write(Array("secret".utf8), to: "secret")
    let shown = try folder.write(Array("shown".utf8), to: "shown")
    for path in ["/etc/passwd", secret, "/proc/self/environ", "/dev/urandom"] {
      try await expect(
        "print open(my $file, '<', '\(path)') ? <$file> : $!", reading: [shown], prints: "Permission denied")
    }
    try await expect("opendir(my $all, '\(folder.path)') ? print 'read' : print $!", prints: "Permission denied")
    try await expect("open(my $file, '<', '\(shown)') or die; print <$file>", reading: [shown], prints: "shown")
  }

  @Test(.enabled(if: ConfinedProcess.landlockVersion > 0)) func onlyItsFolderCanBeWritten() async throws {
    let shown = try folder.write(Array("shown".utf8), to: "shown")
    for path in [folder["new"], "/tmp/\(UUID().uuidString)", "/usr/\(UUID().uuidString)", "/dev/shm/new", shown] {
      try await expect(
        "print open(my $file, '>', '\(path)') ? 'written' : $!", reading: [shown], prints: "Permission denied")
    }
    try await expect("print truncate('\(shown)', 0) ? 'cut' : $!", reading: [shown], prints: "Operation not permitted")
    try await expect("print unlink('\(shown)') ? 'gone' : $!", reading: [shown], prints: "Permission denied")
    // With read access only: O_RDONLY | O_TRUNC.
    try await expect(
      "print sysopen(my $file, '\(shown)', 01000) ? 'cut' : $!", reading: [shown], prints: "Operation not permitted")
    #expect(try folder.bytes("shown") == Array("shown".utf8))
    try await expect(
      "open(my $file, '>', 'new') or die; close $file; rename('new', 'newer') or die; unlink('newer') or die",
      prints: "")
  }

  @Test func nothingThatMisleadsTheCallerCanBeMade() async throws {
    try folder.write([], to: "work/mine")
    try await expect("print chmod(04755, 'mine') ? 'changed' : $!", prints: "Operation not permitted")
    try await expect("print chown(1, 1, 'mine') ? 'changed' : $!", prints: "Operation not permitted")
    try await expect("print utime(1, 1, 'mine') ? 'changed' : $!", prints: "Operation not permitted")
    guard ConfinedProcess.landlockVersion > 0 else { return }
    try await expect("print symlink('/etc/passwd', 'link') ? 'made' : $!", prints: "Permission denied")
    try await expect("use POSIX; print POSIX::mkfifo('pipe', 0600) ? 'made' : $!", prints: "Permission denied")
    try await expect("print mkdir('inner') ? 'made' : $!", prints: "Permission denied")
  }

  @Test func itHasNoPrivileges() async throws {
    let outcome = try await perl(
      "open(my $status, '<', '/proc/self/status') or die $!; print grep { /^(Cap(Eff|Prm|Amb)|NoNewPrivs|Seccomp):/ } <$status>",
      reading: ["/proc"])
    let none = "0000000000000000"
    for line in ["CapPrm:\t\(none)", "CapEff:\t\(none)", "CapAmb:\t\(none)", "NoNewPrivs:\t1", "Seccomp:\t2"] {
      #expect(outcome.output.contains(line + "\n"), "\(line) in \(outcome)")
    }
  }

  #if arch(x86_64)
    @Test func itDiesWithThisProgram() async throws {
      // prctl(PR_GET_PDEATHSIG).
      try await expect("my $signal = pack('i', 0); syscall(157, 2, $signal); print unpack('i', $signal)", prints: "9")
    }
  #endif

  @Test func itInheritsNoDescriptor() async throws {
    let open = try #require([Glibc.open("/dev/null", O_RDONLY), Glibc.open("/dev/null", O_RDONLY)].max())
    defer { close(open) }
    #expect(open > 3)
    try await expect(
      "for (3 .. \(open + 40)) { print $_ if open(my $file, '<&', $_) && fileno($file) > 0 }", prints: "")
  }

  // MARK: What it may use

  @Test func memoryIsLimited() async throws {
    let outcome = try await perl("my $x = 'x' x (700 << 20); print 'taken'")
    #expect(outcome.ending != .exited(0) && outcome.output.contains("Out of memory"), "\(outcome)")
    try await expect("my $x = 'x' x (100 << 20); print 'taken'", prints: "taken")
  }

  @Test func processorTimeIsLimited() async throws {
    #expect(try await perl("1 while 1") { $0.processorSeconds = 1 }.ending == .signalled(SIGXCPU))
  }

  @Test func wallTimeIsLimited() async throws {
    // Whether it sleeps, or writes endlessly and ignores every signal it can.
    for program in ["sleep 600", "$SIG{$_} = 'IGNORE' for keys %SIG; print 'x' x 10000 while 1"] {
      let outcome = try await perl(program) { $0.wallTime = .milliseconds(300) }
      #expect(outcome.ending == .timedOut, "\(program)")
    }
  }

  @Test func fileSizesAreLimited() async throws {
    let outcome = try await perl("open(my $file, '>', 'large'); print $file 'x' x (2 << 20); close $file") {
      $0.fileSize = 1 << 20
    }
    #expect(outcome.ending == .signalled(SIGXFSZ))
    #expect(try folder.bytes("work/large").count <= 1 << 20)
  }

  @Test func openFilesAreLimited() async throws {
    let outcome = try await perl(
      "my @files; while (@files < 100) { open(my $file, '>', 'file') or last; push @files, $file } print @files < 20, $!"
    ) { $0.openFiles = 20 }
    #expect(outcome.output == "1Too many open files")
  }

  // MARK: Its end

  @Test func cancellingTheTaskEndsTheProcess() async throws {
    let task = Task {
      try await perl("open(my $file, '>', 'pid'); print $file $$; close $file; sleep 600") {
        $0.wallTime = .seconds(600)
      }
    }
    let pid = try await eventual("the process writes its pid") {
      guard let bytes = try? folder.bytes("work/pid") else { return nil as pid_t? }
      return pid_t(String(decoding: bytes, as: UTF8.self))
    }
    #expect(kill(pid, 0) == 0)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    // Not even as a zombie.
    #expect(kill(pid, 0) == -1 && errno == ESRCH)
  }

  @Test func aTaskThatIsCancelledBeforeLeavesNothing() async throws {
    let gate = Gate()
    let task = Task {
      // Continues when it is cancelled.
      try? await gate.wait()
      return try await perl("sleep 600") { $0.wallTime = .seconds(600) }
    }
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func manyRunAtOnce() async throws {
    let before = try openDescriptors()
    try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<40 { group.addTask { try await perl("print \(number)").output } }
      var found: Set<String> = []
      for try await output in group { found.insert(output) }
      let all = Set((0..<40).map { String($0) })
      #expect(found == all)
    }
    // Other tests open descriptors meanwhile.
    try await eventually("no descriptor is left open") { try openDescriptors() < before + 40 }
  }

  private func openDescriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
  }
}
