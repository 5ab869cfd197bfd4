// Which system calls a confined child is denied: a seccomp filter (Documentation/userspace-api/seccomp_filter.rst).
//
// A list of denials, not of permissions: decoders and the C library change which harmless calls they make.
#ifndef FANMILL_CLINUX_CONFINE_SYSCALLS_H
#define FANMILL_CLINUX_CONFINE_SYSCALLS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FANMILL_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FANMILL_AUDIT_ARCH AUDIT_ARCH_AARCH64
#endif

#define FANMILL_CLONE_THREAD 0x00010000

// Calls newer than the oldest headers that this compiles with. Their numbers are the same on both architectures.
#define FANMILL_SYS_clone3 435
#define FANMILL_SYS_openat2 437
#define FANMILL_SYS_pidfd_getfd 438
#define FANMILL_SYS_process_madvise 440
#define FANMILL_SYS_mount_setattr 442
#define FANMILL_SYS_memfd_secret 447
#define FANMILL_SYS_fchmodat2 452

#define FANMILL_LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
// The lower half of an argument; both architectures are little-endian.
#define FANMILL_ARGUMENT(index) FANMILL_LOAD(offsetof(struct seccomp_data, args) + 8 * (index))
#define FANMILL_UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skipped))
#define FANMILL_RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define FANMILL_DENIAL (SECCOMP_RET_ERRNO | EPERM)
#define FANMILL_DENY(number) FANMILL_UNLESS(number, 1), FANMILL_RETURN(FANMILL_DENIAL)
#define FANMILL_LACK(number) FANMILL_UNLESS(number, 1), FANMILL_RETURN(SECCOMP_RET_ERRNO | ENOSYS)
// Allows `number` only with an argument that equals `value`.
#define FANMILL_ONLY(number, argument, value)                                                                          \
  FANMILL_UNLESS(number, 4), FANMILL_ARGUMENT(argument), FANMILL_UNLESS(value, 1), FANMILL_RETURN(SECCOMP_RET_ALLOW),  \
    FANMILL_RETURN(FANMILL_DENIAL)
// Denies to truncate a file that is opened for reading, which Landlock does from its version 3 on.
#define FANMILL_OPEN(number, argument)                                                                                 \
  FANMILL_UNLESS(number, 5), FANMILL_ARGUMENT(argument),                                                               \
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE), FANMILL_UNLESS(O_TRUNC, 1),                              \
    FANMILL_RETURN(FANMILL_DENIAL), FANMILL_RETURN(SECCOMP_RET_ALLOW)

// Installs the filter for the rest of the process' life. Async-signal-safe. 0, or -1 with errno.
static inline int fanmill_confine_filter_syscalls(void) {
#ifdef FANMILL_AUDIT_ARCH
  struct sock_filter filter[] = {
    FANMILL_LOAD(offsetof(struct seccomp_data, arch)),
    FANMILL_UNLESS(FANMILL_AUDIT_ARCH, 1),
    BPF_STMT(BPF_JMP | BPF_JA, 1),
    FANMILL_RETURN(SECCOMP_RET_KILL_PROCESS),
    FANMILL_LOAD(offsetof(struct seccomp_data, nr)),

    // Processes: threads only. The C library makes them by clone where there is no clone3, whose flags are in memory.
    FANMILL_LACK(FANMILL_SYS_clone3),
    FANMILL_UNLESS(SYS_clone, 4),
    FANMILL_ARGUMENT(0),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FANMILL_CLONE_THREAD, 0, 1),
    FANMILL_RETURN(SECCOMP_RET_ALLOW),
    FANMILL_RETURN(FANMILL_DENIAL),
#ifdef __x86_64__
    // The x32 calls, which have numbers of their own.
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    FANMILL_RETURN(FANMILL_DENIAL),
    FANMILL_DENY(SYS_fork),
    FANMILL_DENY(SYS_vfork),
    FANMILL_OPEN(SYS_open, 1),
    FANMILL_DENY(SYS_chmod),
    FANMILL_DENY(SYS_chown),
    FANMILL_DENY(SYS_lchown),
    FANMILL_DENY(SYS_utime),
    FANMILL_DENY(SYS_utimes),
    FANMILL_DENY(SYS_futimesat),
    FANMILL_DENY(SYS_iopl),
    FANMILL_DENY(SYS_ioperm),
#endif
    // abort() signals itself; another process is out of reach.
    FANMILL_ONLY(SYS_tgkill, 0, (unsigned)getpid()),
    FANMILL_DENY(SYS_kill),
    FANMILL_DENY(SYS_tkill),
    FANMILL_DENY(SYS_rt_sigqueueinfo),
    FANMILL_DENY(SYS_rt_tgsigqueueinfo),
    FANMILL_DENY(SYS_pidfd_open),
    FANMILL_DENY(SYS_pidfd_send_signal),
    FANMILL_DENY(FANMILL_SYS_pidfd_getfd),
    FANMILL_DENY(SYS_ptrace),
    FANMILL_DENY(SYS_process_vm_readv),
    FANMILL_DENY(SYS_process_vm_writev),
    FANMILL_DENY(FANMILL_SYS_process_madvise),
    FANMILL_DENY(SYS_kcmp),
    FANMILL_ONLY(SYS_prlimit64, 0, 0),
    FANMILL_DENY(SYS_setpriority),
    FANMILL_DENY(SYS_ioprio_set),

    FANMILL_DENY(SYS_socket),
    FANMILL_DENY(SYS_socketpair),
    FANMILL_DENY(SYS_connect),
    FANMILL_DENY(SYS_bind),
    FANMILL_DENY(SYS_listen),
    FANMILL_DENY(SYS_accept),
    FANMILL_DENY(SYS_accept4),

    // Files: what Landlock does not ask about.
    FANMILL_LACK(FANMILL_SYS_openat2),
    FANMILL_OPEN(SYS_openat, 2),
    FANMILL_DENY(SYS_truncate),
    FANMILL_DENY(SYS_fchmod),
    FANMILL_DENY(SYS_fchmodat),
    FANMILL_DENY(FANMILL_SYS_fchmodat2),
    FANMILL_DENY(SYS_fchown),
    FANMILL_DENY(SYS_fchownat),
    FANMILL_DENY(SYS_utimensat),
    FANMILL_DENY(SYS_setxattr),
    FANMILL_DENY(SYS_lsetxattr),
    FANMILL_DENY(SYS_fsetxattr),
    FANMILL_DENY(SYS_removexattr),
    FANMILL_DENY(SYS_lremovexattr),
    FANMILL_DENY(SYS_fremovexattr),
    FANMILL_DENY(SYS_name_to_handle_at),
    FANMILL_DENY(SYS_open_by_handle_at),

    // Memory that RLIMIT_AS does not count.
    FANMILL_DENY(SYS_memfd_create),
    FANMILL_DENY(FANMILL_SYS_memfd_secret),
    FANMILL_DENY(SYS_shmget),
    FANMILL_DENY(SYS_msgget),
    FANMILL_DENY(SYS_semget),
    FANMILL_DENY(SYS_mq_open),

    FANMILL_DENY(SYS_mount),
    FANMILL_DENY(SYS_umount2),
    FANMILL_DENY(SYS_pivot_root),
    FANMILL_DENY(SYS_chroot),
    FANMILL_DENY(SYS_fsopen),
    FANMILL_DENY(SYS_fspick),
    FANMILL_DENY(SYS_fsconfig),
    FANMILL_DENY(SYS_fsmount),
    FANMILL_DENY(SYS_move_mount),
    FANMILL_DENY(SYS_open_tree),
    FANMILL_DENY(FANMILL_SYS_mount_setattr),
    FANMILL_DENY(SYS_unshare),
    FANMILL_DENY(SYS_setns),

    // Wide doors into the kernel that a decoder needs none of.
    FANMILL_DENY(SYS_io_uring_setup),
    FANMILL_DENY(SYS_io_uring_enter),
    FANMILL_DENY(SYS_io_uring_register),
    FANMILL_DENY(SYS_bpf),
    FANMILL_DENY(SYS_perf_event_open),
    FANMILL_DENY(SYS_userfaultfd),
    FANMILL_DENY(SYS_keyctl),
    FANMILL_DENY(SYS_add_key),
    FANMILL_DENY(SYS_request_key),
    FANMILL_DENY(SYS_init_module),
    FANMILL_DENY(SYS_finit_module),
    FANMILL_DENY(SYS_delete_module),
    FANMILL_DENY(SYS_kexec_load),
    FANMILL_DENY(SYS_reboot),
    FANMILL_DENY(SYS_swapon),
    FANMILL_DENY(SYS_swapoff),
    FANMILL_DENY(SYS_syslog),
    FANMILL_DENY(SYS_acct),
    FANMILL_DENY(SYS_quotactl),
    FANMILL_DENY(SYS_settimeofday),
    FANMILL_DENY(SYS_clock_settime),
    FANMILL_DENY(SYS_adjtimex),
    FANMILL_DENY(SYS_clock_adjtime),
    FANMILL_DENY(SYS_sethostname),
    FANMILL_DENY(SYS_setdomainname),

    FANMILL_RETURN(SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
#else
  errno = ENOSYS;
  return -1;
#endif
}

#endif
