// Launches a program that parses hostile bytes: few rights, few resources, a fate tied to the launching thread.
//
// The child keeps the caller's user, but no capability of it. It reads /usr, the loader's cache and the paths that it
// is given, writes one folder, opens no socket and starts no process. RLIMIT_NPROC is left alone: it counts all
// processes and threads of the user, the caller's too, and the filter denies fork already.
#ifndef FANMILL_CLINUX_CONFINE_H
#define FANMILL_CLINUX_CONFINE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Of the mask of 8,192 processors, as many as a kernel can be built for.
#define FANMILL_PROCESSOR_WORDS (int)(8192 / (8 * sizeof(unsigned long)))

#include "confine_files.h"
#include "confine_steps.h"
#include "confine_syscalls.h"

struct fanmill_confined {
  const char *program;         // an absolute path
  char *const *arguments;      // NULL at the end; the first is the program's name
  char *const *environment;    // NULL at the end
  const char *folder;          // current folder of the child, and the one that it writes
  char *const *readable;       // NULL at the end: files and folders that it reads besides
  const char *control_group;   // the file by which a process joins one, or NULL
  int output;                  // descriptor that becomes its standard output and error
  uint64_t memory;             // bytes of address space
  uint64_t seconds;            // of processor time
  uint64_t file_size;          // bytes, each file
  uint64_t open_files;
};

struct fanmill_confine_failure {
  int32_t step;  // enum fanmill_confine_step
  int32_t error; // errno
};

// Swift imports headers without GNU's extensions, so these are missing there.
#define FANMILL_CLONE_PIDFD 0x00001000
#define FANMILL_REPORT 3 // the child's descriptor that exec closes
#define FANMILL_NICE 10  // a tenth of what another process gets that wants the same processor
#define FANMILL_NICE_TEXT "10"

static inline void fanmill_confine_fail(int report, enum fanmill_confine_step step) {
  struct fanmill_confine_failure failure = {step, errno};
  // A parent that is gone needs no report.
  if (write(report, &failure, sizeof failure) < 0) _exit(126);
  _exit(127);
}

static inline int fanmill_confine_limit(int resource, uint64_t soft, uint64_t hard) {
  struct rlimit limit = {soft, hard};
  return setrlimit((__rlimit_resource_t)resource, &limit);
}

static inline int fanmill_confine_drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2];
  memset(none, 0, sizeof none);
  // With no_new_privs, exec gives root none of them back.
  return (int)syscall(SYS_capset, &header, none);
}

// Lets all others go first that want a processor. Where sessions share processors as groups (sched_autogroup), a new
// session would have as much as all that serves people; the kernel then counts the group's nice value alone. No child is
// refused for it: both fail only where the system has no such thing.
static inline void fanmill_confine_yield(void) {
  setpriority(PRIO_PROCESS, 0, FANMILL_NICE);
  int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (group < 0) return;
  if (write(group, FANMILL_NICE_TEXT, sizeof FANMILL_NICE_TEXT - 1) < 0) errno = 0;
  close(group);
}

// Leaves the first processor to all others: a thread that wakes where a nice one runs may wait for the next tick of the
// clock, up to 4 ms, at each step of its request, and a host may pause a virtual machine whose processors are all busy.
// All children leave the same one. Where there is one processor, or the system refuses, they share it.
static inline void fanmill_confine_leave_processor(void) {
  unsigned long processors[FANMILL_PROCESSOR_WORDS] = {0};
  // The call itself, which GNU's wrappers hide from Swift's C; it returns how many bytes it filled.
  if (syscall(SYS_sched_getaffinity, 0, sizeof processors, processors) < 0) return;
  int count = 0, first = -1;
  for (int word = FANMILL_PROCESSOR_WORDS - 1; word >= 0; word--) {
    count += __builtin_popcountl(processors[word]);
    if (processors[word] != 0) first = word;
  }
  if (count < 2) return;
  processors[first] &= processors[first] - 1;
  syscall(SYS_sched_setaffinity, 0, sizeof processors, processors);
}

// Joins the control group that the operator gave it. "0" is whoever writes it.
static inline int fanmill_confine_join(const char *processes) {
  int file = open(processes, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t count = write(file, "0", 1);
  int error = errno;
  close(file);
  errno = error;
  return count == 1 ? 0 : -1;
}

// Runs in the child, a copy of one thread of many: async-signal-safe calls only.
static inline void fanmill_confine_become(
  const struct fanmill_confined *plan, pid_t parent, int input, int output, int report, int ruleset) {
  struct sigaction standard;
  memset(&standard, 0, sizeof standard);
  standard.sa_handler = SIG_DFL;
  // Fails for SIGKILL, SIGSTOP and the two of the C library, which need it least.
  for (int number = 1; number < 65; number++) sigaction(number, &standard, NULL);

  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) fanmill_confine_fail(report, FANMILL_STEP_DEATH_SIGNAL);
  // The parent died before the line above.
  if (getppid() != parent) _exit(126);
  if (setsid() < 0) fanmill_confine_fail(report, FANMILL_STEP_SESSION);
  if (plan->control_group == NULL) {
    fanmill_confine_yield();
  } else if (fanmill_confine_join(plan->control_group) != 0) {
    fanmill_confine_fail(report, FANMILL_STEP_CONTROL_GROUP);
  }
  fanmill_confine_leave_processor();
  if (chdir(plan->folder) != 0) fanmill_confine_fail(report, FANMILL_STEP_FOLDER);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fanmill_confine_fail(report, FANMILL_STEP_PRIVILEGES);
  if (fanmill_confine_drop_capabilities() != 0) fanmill_confine_fail(report, FANMILL_STEP_CAPABILITIES);
  if (ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
    fanmill_confine_fail(report, FANMILL_STEP_LANDLOCK);

  // All four are above 3, so that none overwrites another.
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0 ||
      syscall(SYS_dup3, report, FANMILL_REPORT, O_CLOEXEC) < 0)
    fanmill_confine_fail(report, FANMILL_STEP_DESCRIPTORS);
  report = FANMILL_REPORT;
  if (syscall(SYS_close_range, FANMILL_REPORT + 1, ~0U, 0) != 0)
    fanmill_confine_fail(report, FANMILL_STEP_DESCRIPTORS);

  if (fanmill_confine_limit(RLIMIT_CORE, 0, 0) != 0 ||
      // SIGXCPU at the soft limit says why it ended, SIGKILL at the hard one ends a child that ignores it.
      fanmill_confine_limit(RLIMIT_CPU, plan->seconds, plan->seconds + 1) != 0 ||
      fanmill_confine_limit(RLIMIT_FSIZE, plan->file_size, plan->file_size) != 0 ||
      fanmill_confine_limit(RLIMIT_NOFILE, plan->open_files, plan->open_files) != 0 ||
      // Last: this copy of the caller may already be larger.
      fanmill_confine_limit(RLIMIT_AS, plan->memory, plan->memory) != 0)
    fanmill_confine_fail(report, FANMILL_STEP_LIMITS);

  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, NULL) != 0) fanmill_confine_fail(report, FANMILL_STEP_SIGNALS);
  if (fanmill_confine_filter_syscalls() != 0) fanmill_confine_fail(report, FANMILL_STEP_FILTER);
  execve(plan->program, plan->arguments, plan->environment);
  fanmill_confine_fail(report, FANMILL_STEP_EXEC);
}

// A pipe whose ends exec closes.
static inline int fanmill_pipe(int ends[2]) { return (int)syscall(SYS_pipe2, ends, O_CLOEXEC); }

// Moves `descriptor` above those that the child has.
static inline int fanmill_confine_lift(int descriptor) {
  if (descriptor < 0 || descriptor > FANMILL_REPORT) return descriptor;
  int lifted = fcntl(descriptor, F_DUPFD_CLOEXEC, FANMILL_REPORT + 1);
  int error = errno;
  close(descriptor);
  errno = error;
  return lifted;
}

// Clones the child; its pidfd, or -1 with errno. A raw clone: fork() runs handlers that take the C library's locks.
static inline int fanmill_confine_clone(
  const struct fanmill_confined *plan, int input, int output, int report, int ruleset) {
  sigset_t all, before;
  pid_t parent = getpid();
  int pidfd = -1;
  sigfillset(&all);
  // No handler of the caller's may run in the child.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  long pid = syscall(SYS_clone, (unsigned long)(FANMILL_CLONE_PIDFD | SIGCHLD), NULL, &pidfd, NULL, NULL);
  if (pid == 0) fanmill_confine_become(plan, parent, input, output, report, ruleset);
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return pid < 0 ? -1 : pidfd;
}

static inline void fanmill_confine_kill(int pidfd) {
  // Fails for a child that has ended, which is as well.
  syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

// Waits for the child's end, reaps it and closes `pidfd`. Its exit status, or minus the signal that ended it, and the
// processor time that it took, in microseconds.
static inline int fanmill_confine_reap(int pidfd, int64_t *processor_time) {
  siginfo_t information;
  struct rusage usage;
  memset(&information, 0, sizeof information);
  memset(&usage, 0, sizeof usage);
  // The library's waitid(3) leaves out what the call says of the child's use.
  while (syscall(SYS_waitid, P_PIDFD, pidfd, &information, WEXITED, &usage) != 0 && errno == EINTR) {}
  close(pidfd);
  *processor_time = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * (int64_t)1000000 + usage.ru_utime.tv_usec +
                    usage.ru_stime.tv_usec;
  return information.si_code == CLD_EXITED ? information.si_status : -information.si_status;
}

// Starts `plan`'s program and returns once it runs: its pidfd, or -1 with `failure`, and then no child is left.
//
// The calling thread must outlive the child: the kernel kills the child when that thread ends.
static inline int fanmill_confine_start(
  const struct fanmill_confined *plan, struct fanmill_confine_failure *failure) {
  int pipe_ends[2] = {-1, -1}, input = -1, output = -1, ruleset = -1, pidfd = -1;
  memset(failure, 0, sizeof *failure);
  failure->step = FANMILL_STEP_DESCRIPTORS;
  int has_files = (input = fanmill_confine_lift(open("/dev/null", O_RDONLY | O_CLOEXEC))) >= 0 &&
                  (output = fcntl(plan->output, F_DUPFD_CLOEXEC, FANMILL_REPORT + 1)) >= 0 &&
                  fanmill_pipe(pipe_ends) == 0 && (pipe_ends[1] = fanmill_confine_lift(pipe_ends[1])) >= 0;
  if (has_files) {
    failure->step = FANMILL_STEP_LANDLOCK;
    ruleset = fanmill_confine_ruleset(plan->program, plan->folder, plan->readable);
    if (ruleset >= 0) ruleset = fanmill_confine_lift(ruleset);
  }
  if (has_files && ruleset != -1) {
    failure->step = FANMILL_STEP_CLONE;
    pidfd = fanmill_confine_clone(plan, input, output, pipe_ends[1], ruleset);
  }
  failure->error = errno;
  if (input >= 0) close(input);
  if (output >= 0) close(output);
  if (ruleset >= 0) close(ruleset);
  if (pipe_ends[1] >= 0) close(pipe_ends[1]);
  if (pidfd >= 0) {
    // exec closes the child's end; a child that fails before writes to it first.
    struct fanmill_confine_failure reported;
    ssize_t count;
    do count = read(pipe_ends[0], &reported, sizeof reported);
    while (count < 0 && errno == EINTR);
    if (count == (ssize_t)sizeof reported) {
      int64_t unused;
      fanmill_confine_reap(pidfd, &unused);
      pidfd = -1;
      *failure = reported;
    }
  }
  if (pipe_ends[0] >= 0) close(pipe_ends[0]);
  return pidfd;
}

#endif
