"""The command `headrace`: starts the screen, a script or the runtime. Each imports only the modules that it needs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

from tui.errors import BROKEN_PIPE, FAILED, INTERRUPTED, HeadraceError, UsageError, error_line
from tui.options import USAGE_TEXT, cluster_options, leading_cluster_options, read_options

RUNTIME_VERBS = ("worker", "embedded", "offsets", "plugin", "doctor", "migrate")
MIN_COLUMNS = 40
# Commands without -c, with their verbs.
DIRECT = {verb: verb for verb in ("watch", "check", "backup", "restore")} | {"preview": "preview connector"}


def entry() -> NoReturn:
    """Runs `main` and exits without finalizing the interpreter, which would take a tenth of a script line's time. All
    resources have been released by then."""
    # The default action is not enough: the kernel ignores SIGTERM for process 1 of a container.
    signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))
    _in_utf8_mode()
    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def main() -> int:
    """Runs the process and returns its exit code. Errors are printed on one line, without a Python traceback."""
    _open_streams()
    _escape_unencodable()
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
        return code
    except HeadraceError as error:
        from tui.script.runner import Printer

        with suppress(OSError):  # standard output may be the error
            Printer().error(error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe; without this, Python would report an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        _complain(f"headrace: {_unexpected(error)}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        # A bug in Headrace: one line for scripts, the traceback on request.
        if os.environ.get("HEADRACE_TRACE"):
            raise
        _complain(f"headrace: {_unexpected(error)}")
        return FAILED


def _unexpected(error: Exception) -> HeadraceError:
    if isinstance(error, OSError):
        return HeadraceError(f"{error.filename or 'standard output'}: {error.strerror}")
    return HeadraceError(error_line(error), "set HEADRACE_TRACE=1 for the traceback")


def _complain(text: str) -> None:
    """Prints to standard error; the exit code stays if that cannot be written, as on a full disk."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _in_utf8_mode() -> None:
    """Starts this process again if PYTHONUTF8=0 keeps Python's UTF-8 mode off in the C locale: in ASCII it can neither
    read names from the command line nor open files whose names have other letters."""
    if sys.getfilesystemencoding() == "ascii" and os.environ.get("PYTHONUTF8") == "0":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def _open_streams() -> None:
    """Replaces closed standard streams (`>&-`), since the next file or socket would take their descriptors. Standard
    input is then empty, writing to standard output fails, and standard error is discarded."""
    for number, (name, mode, flags) in enumerate(
        (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))
    ):
        if getattr(sys, name) is None:
            if (given := os.open(os.devnull, flags)) != number:
                os.dup2(given, number)
                os.close(given)
            os.set_inheritable(number, True)  # for the runtime, which replaces this process
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - a stream


def _escape_unencodable() -> None:
    """Escapes characters of names and offsets that the streams' encoding lacks (in JSON by JSON's own escapes)."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def run(words: Sequence[str]) -> int:
    """Runs the command line and returns the exit code. Raises HeadraceError."""
    if words and words[0] in RUNTIME_VERBS:
        from tui.embedded import exec_runtime

        exec_runtime(words)
    if words and words[0] == "config":
        return _script({}, (" ".join(map(_quoted, words)),))
    cluster, rest = leading_cluster_options(words)
    if rest and rest[0] in DIRECT:
        return _direct(rest[0], [*cluster, *rest[1:]])
    if words and words[0] in ("completion", "__complete"):
        from tui.script.completion import print_candidates, print_script

        return (print_script if words[0] == "completion" else print_candidates)(words[1:])
    options = read_options(words)
    if "help" in options:
        sys.stdout.write(USAGE_TEXT)
        return 0
    if "version" in options:
        return _version()
    if "script" in options or "commands" in options:
        return _script(options, options.pop("commands", ()))
    return _screen(options)


def _direct(verb: str, words: Sequence[str]) -> int:
    """`headrace VERB [URL | --context NAME] …`, or with the cluster first: runs a command without -c."""
    if {"-h", "--help"} & set(words):
        return _script({}, (f"help {DIRECT[verb]}",))
    try:
        options, rest = cluster_options(words)
        return _script(options, (" ".join(map(_quoted, [verb, *rest])),))
    except BrokenPipeError:
        raise
    except Exception as error:
        from tui.commands.registry import find
        from tui.script.grammar import form_of

        reported = error if isinstance(error, HeadraceError) else _unexpected(error)
        reported.form = form_of(words)
        find((DIRECT[verb],))[0].adapt(reported)
        if reported is error or reported.exit_code == FAILED or os.environ.get("HEADRACE_TRACE"):
            raise
        raise reported from error


def _quoted(word: str) -> str:
    from shlex import quote

    return quote(word)


def _version() -> int:
    from importlib.metadata import version

    print(f"headrace {version('headrace')}")
    return 0


def _script(options: dict[str, Any], commands: tuple[str, ...]) -> int:
    from tui import gc_tuning

    gc_tuning.tune_for_script()
    from tui.script.entry import ScriptOptions, run

    return run(ScriptOptions(commands=commands, settings_problems=_settings_problems, **options))


def _settings_problems(folder: Path) -> list[str]:
    """Problems in the user's settings. The screens, which know the keys, are imported only if there are settings."""
    from tui.appearance.settings import FILE

    if not any((folder / name).exists() for name in (FILE, "themes")):
        return []
    from importlib import import_module

    from tui.appearance.appearance import problems

    for screens in ("tui.app", "tui.screens.connector.connector"):
        import_module(screens)
    return problems(folder)


def _screen(options: dict[str, Any]) -> int:
    """Runs the screen; without a URL or context, on the embedded cluster, from which it detaches at the end."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the screen needs a terminal: use --script FILE, -c 'COMMAND', or `headrace embedded run`")
    from tui import hangup

    hangup.end_with_terminal()
    _check_terminal()
    if not sys.stderr.isatty():  # with 2>FILE: Textual draws on sys.__stderr__, and cannot be given another file
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]  # typed as final
    if "record" in options:
        _check_recording(options["record"])
    for fixed_size in ("COLUMNS", "LINES"):  # some shells export these, and Textual prefers them to the terminal's size
        os.environ.pop(fixed_size, None)
    # Textual draws at its ticks only: with its 60 a second, a key right after a drawing waits for up to 33 ms.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from tui import gc_tuning, session

    gc_tuning.disable_for_start()
    if "replay" in options:
        return _app(session.replayed(options["replay"]), options)
    known = session.profiles()
    profile = session.choose(options.get("url", ""), options.get("context", ""), known)
    if profile is not None:
        return _app(profile, options)
    from tui.contexts.profiles import Profile
    from tui.embedded import attach

    embedded = attach()
    try:
        return _app(Profile(embedded.url, "embedded", bootstrap=embedded.bootstrap), options)
    finally:
        embedded.detach()


def _check_terminal() -> None:
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError(
            "TERM=dumb cannot show the screen: set TERM to the type of the terminal, such as xterm-256color"
        )
    columns = os.get_terminal_size().columns
    if 0 < columns < MIN_COLUMNS:
        raise UsageError(
            f"the screen needs {MIN_COLUMNS} columns, this terminal has {columns}",
            "use -c, which works in any terminal",
        )


def _check_recording(path: str) -> None:
    """Raises UsageError if the recording cannot be written, or exists already: recordings are never overwritten."""
    try:
        number = os.open(Path(path).expanduser(), os.O_WRONLY | os.O_CREAT, 0o600)
        is_taken = os.fstat(number).st_size > 0
        os.close(number)
    except OSError as error:
        raise UsageError(f"cannot record to {path}: {error.strerror}") from None
    if is_taken:
        raise UsageError(f"cannot record to {path}: the file is not empty", "choose another file")


def _app(profile: Any, options: dict[str, Any]) -> int:
    from tui.app import run as run_app

    profile = profile.as_read_only() if options.get("read_only", False) else profile
    return int(run_app(profile._replace(record=options.get("record", ""))))


if __name__ == "__main__":
    entry()
