// The parts of Linux that the Glibc module leaves out.
#ifndef FANMILL_CLINUX_SHIM_H
#define FANMILL_CLINUX_SHIM_H

#include <malloc.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// prctl is variadic, which Swift cannot call. The kernel keeps 15 bytes of the name.
static inline int fanmill_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name); }

// spawn.h shows these to C programs that ask for GNU's extensions only.
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

#endif
