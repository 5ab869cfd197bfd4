// The steps between clone and exec that can fail, as a failure names them.
#ifndef FANMILL_CLINUX_CONFINE_STEPS_H
#define FANMILL_CLINUX_CONFINE_STEPS_H

enum fanmill_confine_step {
  FANMILL_STEP_CLONE,
  FANMILL_STEP_DESCRIPTORS,
  FANMILL_STEP_DEATH_SIGNAL,
  FANMILL_STEP_SESSION,
  FANMILL_STEP_CONTROL_GROUP,
  FANMILL_STEP_FOLDER,
  FANMILL_STEP_PRIVILEGES,
  FANMILL_STEP_CAPABILITIES,
  FANMILL_STEP_LANDLOCK,
  FANMILL_STEP_LIMITS,
  FANMILL_STEP_SIGNALS,
  FANMILL_STEP_FILTER,
  FANMILL_STEP_EXEC,
};

static inline const char *fanmill_confine_step_name(int step) {
  switch (step) {
  case FANMILL_STEP_CLONE: return "clone";
  case FANMILL_STEP_DESCRIPTORS: return "file descriptors";
  case FANMILL_STEP_DEATH_SIGNAL: return "parent-death signal";
  case FANMILL_STEP_SESSION: return "setsid";
  case FANMILL_STEP_CONTROL_GROUP: return "control group";
  case FANMILL_STEP_FOLDER: return "chdir";
  case FANMILL_STEP_PRIVILEGES: return "no_new_privs";
  case FANMILL_STEP_CAPABILITIES: return "capabilities";
  case FANMILL_STEP_LANDLOCK: return "Landlock";
  case FANMILL_STEP_LIMITS: return "resource limits";
  case FANMILL_STEP_SIGNALS: return "signal mask";
  case FANMILL_STEP_FILTER: return "seccomp";
  case FANMILL_STEP_EXEC: return "exec";
  default: return "unknown step";
  }
}

#endif
