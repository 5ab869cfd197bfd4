// The parts of Linux that the Glibc module leaves out.
#ifndef FANMILL_CLINUX_SHIM_H
#define FANMILL_CLINUX_SHIM_H

#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// fcntl.h shows it to C programs that ask for GNU's extensions only.
extern int sync_file_range(int descriptor, int64_t offset, int64_t count, unsigned int flags);

// Writes a range of a file to its disk, and returns when it is there: its bytes, not its length or its name.
static inline int fanmill_write_back(int descriptor, int64_t offset, int64_t count) {
  // Wait for what is being written, write the rest, wait for that.
  return sync_file_range(descriptor, offset, count, 7);
}

// A new file in a folder, without a name until linkat gives it one: it goes with its last descriptor. Fails with
// EOPNOTSUPP on file systems that have no such thing.
static inline int fanmill_open_nameless(const char *folder) {
  // O_TMPFILE, which is GNU's, too.
  return open(folder, 020000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0600);
}

// prctl is variadic, which Swift cannot call. The kernel keeps 15 bytes of the name.
static inline int fanmill_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name); }

// spawn.h shows these to C programs that ask for GNU's extensions only.
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

#endif
