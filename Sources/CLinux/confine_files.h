// Which files a confined child reaches: a Landlock ruleset (Documentation/userspace-api/landlock.rst).
//
// The constants are spelled out: the headers of a release know no more than its kernel, and a newer kernel may run.
#ifndef FANMILL_CLINUX_CONFINE_FILES_H
#define FANMILL_CLINUX_CONFINE_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define FANMILL_O_PATH 010000000
#define FANMILL_FS_EXECUTE (1ULL << 0)
#define FANMILL_FS_WRITE_FILE (1ULL << 1)
#define FANMILL_FS_READ_FILE (1ULL << 2)
#define FANMILL_FS_READ_DIR (1ULL << 3)
#define FANMILL_FS_REMOVE_FILE (1ULL << 5)
#define FANMILL_FS_MAKE_REG (1ULL << 8)
#define FANMILL_FS_TRUNCATE (1ULL << 14)
// No symbolic link, FIFO or device: the caller opens what it finds in the child's folder.
#define FANMILL_FS_WORK                                                                                                \
  (FANMILL_FS_READ_FILE | FANMILL_FS_READ_DIR | FANMILL_FS_WRITE_FILE | FANMILL_FS_TRUNCATE | FANMILL_FS_MAKE_REG |    \
   FANMILL_FS_REMOVE_FILE)
#define FANMILL_FS_OF_FILES (FANMILL_FS_EXECUTE | FANMILL_FS_WRITE_FILE | FANMILL_FS_READ_FILE | FANMILL_FS_TRUNCATE)

struct fanmill_landlock_ruleset {
  uint64_t files, network, scopes;
};

struct fanmill_landlock_path {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

// The kernel's version of Landlock; 0 where it has none, or has it switched off.
static inline int fanmill_landlock_version(void) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1U);
  return version < 0 ? 0 : (int)version;
}

// All that this version can deny.
static inline struct fanmill_landlock_ruleset fanmill_landlock_handled(int version) {
  struct fanmill_landlock_ruleset handled = {(1ULL << 13) - 1, 0, 0};
  if (version >= 2) handled.files |= 1ULL << 13; // to link and rename between folders
  if (version >= 3) handled.files |= FANMILL_FS_TRUNCATE;
  if (version >= 4) handled.network = 3;          // TCP: bind, connect
  if (version >= 5) handled.files |= 1ULL << 15;  // ioctl on devices
  if (version >= 6) handled.scopes = 3;           // abstract sockets, signals
  return handled;
}

// Allows `access` below `path`; a path that is not there is none to allow, unless it `must_exist`.
static inline int fanmill_landlock_allow(
  int ruleset, uint64_t handled, const char *path, uint64_t access, int must_exist) {
  int parent = open(path, FANMILL_O_PATH | O_CLOEXEC);
  if (parent < 0) return !must_exist && errno == ENOENT ? 0 : -1;
  struct stat status;
  int result = fstat(parent, &status);
  if (result == 0) {
    if (!S_ISDIR(status.st_mode)) access &= FANMILL_FS_OF_FILES;
    struct fanmill_landlock_path rule = {access & handled, parent};
    result = (int)syscall(SYS_landlock_add_rule, ruleset, 1 /* path beneath */, &rule, 0);
  }
  int error = errno;
  close(parent);
  errno = error;
  return result;
}

// A ruleset's descriptor; -1 with errno, or -2 where the kernel has no Landlock.
static inline int fanmill_confine_ruleset(const char *program, const char *folder, char *const *readable) {
  static const char *const loaders[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"};
  static const char *const system[] = {"/usr", "/lib", "/lib64", "/etc/ld.so.cache"};
  const uint64_t reading = FANMILL_FS_READ_FILE | FANMILL_FS_READ_DIR;
  const uint64_t running = FANMILL_FS_READ_FILE | FANMILL_FS_EXECUTE;
  int version = fanmill_landlock_version();
  if (version == 0) return -2;
  struct fanmill_landlock_ruleset handled = fanmill_landlock_handled(version);
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
  if (ruleset < 0) return -1;

  int result = fanmill_landlock_allow(ruleset, handled.files, folder, FANMILL_FS_WORK, 1);
  // A missing program is exec's to report.
  if (result == 0) result = fanmill_landlock_allow(ruleset, handled.files, program, running, 0);
  for (size_t index = 0; result == 0 && index < sizeof loaders / sizeof *loaders; index++)
    result = fanmill_landlock_allow(ruleset, handled.files, loaders[index], running, 0);
  for (size_t index = 0; result == 0 && index < sizeof system / sizeof *system; index++)
    result = fanmill_landlock_allow(ruleset, handled.files, system[index], reading, 0);
  for (; result == 0 && *readable; readable++)
    result = fanmill_landlock_allow(ruleset, handled.files, *readable, reading, 1);
  if (result == 0) return ruleset;
  int error = errno;
  close(ruleset);
  errno = error;
  return -1;
}

#endif
