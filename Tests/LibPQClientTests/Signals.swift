import Glibc

/// Freezes a process.
func stop(_ process: Int32) { kill(process, SIGSTOP) }
func resume(_ process: Int32) { kill(process, SIGCONT) }
