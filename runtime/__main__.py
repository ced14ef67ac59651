"""Entry point of `python -m runtime`."""

import errno
import os
import signal
import sys

from runtime.main import main

_BROKEN_PIPE, _INTERRUPTED = 141, 130
_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO)


def entry() -> int:
    """Runs the command. A standard output that takes no more is one line on standard error, or none if its reader has
    closed it (`headrace plugin list | head -1`)."""
    if sys.argv[1:2] == ["worker"]:
        # Until the worker has its handlers. The kernel ignores SIGTERM for process 1 of a container without a handler;
        # `headrace` has blocked the signal, so that it waits.
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    if sys.getfilesystemencoding() == "ascii" and os.environ.get("PYTHONUTF8") == "0":  # no file with other letters
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    if os.environ.get("LC_ALL") in ("C", "POSIX"):  # in which Java finds no jar in a folder with letters beyond ASCII
        os.environ["LC_ALL"] = "C.UTF-8"  # as Python does with LC_CTYPE (PEP 538)
    try:
        code = main(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:  # before the command handles it itself
        return _INTERRUPTED
    except OSError as error:
        if error.filename is not None or error.errno not in _OUTPUT:
            raise
        code = _BROKEN_PIPE if isinstance(error, BrokenPipeError) else 1
        if code != _BROKEN_PIPE:
            print(f"headrace: standard output: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes it at exit
        return code


if __name__ == "__main__":
    sys.exit(entry())
