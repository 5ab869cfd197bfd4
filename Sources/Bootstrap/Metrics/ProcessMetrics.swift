import Foundation
import Glibc
import Locking
import Metrics

/// Metrics of every process: memory, CPU time, open files, start time.
///
/// The names match those of Prometheus's own clients.
enum ProcessMetrics {
  static func install(in registry: PrometheusRegistry) {
    let memory = Meter(label: "process_resident_memory_bytes", factory: registry)
    let processor = FloatingPointCounter(label: "process_cpu_seconds", factory: registry)
    let counted = Locked(0.0)
    let files = Meter(label: "process_open_fds", factory: registry)
    let start = Meter(label: "process_start_time_seconds", factory: registry)
    start.set(Date().timeIntervalSince1970)
    registry.beforeScrape {
      memory.set(Double(residentBytes()))
      let spent = processorSeconds()
      processor.increment(
        by: counted.withLock { last in
          defer { last = spent }
          return spent - last
        })
      files.set(Double(openFiles()))
    }
  }

  /// From the second field of `/proc/self/statm`, in pages; 0 if the file is missing.
  static func residentBytes() -> Int {
    guard let statm = FileManager.default.contents(atPath: "/proc/self/statm") else { return 0 }
    let fields = String(decoding: statm, as: UTF8.self).split(separator: " ")
    return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
  }

  static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
  }

  static func openFiles() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while let entry = readdir(folder) {
      if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
    }
    return max(0, count - 1)  // The folder itself is open.
  }
}
