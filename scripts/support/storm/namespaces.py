"""Runs a program in separate namespaces: its processes, mounts and networks end with it in any case."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1
UNAVAILABLE = 69

_libc = ctypes.CDLL(None, use_errno=True)


def _unshare(flags, name):
    if _libc.unshare(flags) == 0:
        return
    reason = os.strerror(ctypes.get_errno())
    sys.stderr.write(
        f"{name}: may not make namespaces ({reason}): run it as root, in a container with --privileged\n")
    sys.exit(UNAVAILABLE)


def require_namespaces(name):
    """Exits if this process may not create namespaces, or lacks a program for it."""
    if os.geteuid() != 0:
        sys.stderr.write(f"{name}: network namespaces need root: run it with sudo\n")
        sys.exit(UNAVAILABLE)
    missing = [tool for tool in ("ip", "nsenter", "setpriv", "mount") if not shutil.which(tool)]
    if missing:
        sys.stderr.write(f"{name}: {', '.join(missing)} missing: `make setup` installs what is needed\n")
        sys.exit(UNAVAILABLE)
    child = os.fork()
    if child == 0:
        try:
            _unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET, name)
        except SystemExit as error:
            os._exit(error.code)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        sys.exit(status)


def run_alone(name, body):
    """Runs `body(folder)` in separate namespaces, with a temporary folder; exits with its status.

    The first process of the inner namespace ends with this one in any case, and the kernel then kills all others in
    it. Their network namespaces and mounts have no other owner and disappear with them.
    """
    folder = tempfile.mkdtemp(prefix="fanmill-storm-", dir="/var/tmp")
    # Postgres runs as another user.
    os.chmod(folder, 0o755)
    status = 1
    try:
        _unshare(CLONE_NEWPID, name)
        child = os.fork()
        if child == 0:
            _first_process(name, folder, body)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: os.kill(child, signal.SIGKILL))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(status if status >= 0 else 128 - status)


def _first_process(name, folder, body):
    """Sets up the namespaces, runs `body` in a child process, and reaps orphaned processes."""
    status = 1
    try:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _unshare(CLONE_NEWNS | CLONE_NEWNET, name)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
        os.makedirs("/run/netns", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/netns"], check=True)
        main = os.fork()
        if main == 0:
            _main_process(folder, body)
        while True:
            ended, how = os.wait()
            if ended == main:
                status = os.waitstatus_to_exitcode(how)
                break
    except SystemExit as error:
        status = error.code
    except BaseException as error:
        sys.stderr.write(f"{name}: {error!r}\n")
    finally:
        sys.stderr.flush()
        os._exit(status if status >= 0 else 128 - status)


def _main_process(folder, body):
    status = 1
    try:
        status = body(folder)
    except SystemExit as error:
        if isinstance(error.code, str):
            sys.stderr.write(error.code + "\n")
        else:
            status = error.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
