"""Runs `--script` and `-c`, from the options of the process to its exit code, and asks at the user's terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tui import session
from tui.client.calls import drive
from tui.client.client import Connect
from tui.commands.context import CommandCluster, CommandContext, CommandFiles, CommandTerminal
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, UsageError
from tui.script.runner import Printer, run_texts
from tui.user_files import read_standard_input, read_text
from tui.user_folders import state_folder

if TYPE_CHECKING:
    from tui.embedded import Embedded


def asker(is_script: bool) -> Callable[[str], bool]:
    """A function that asks the user at the terminal; without a terminal, and in scripts, it always answers yes."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return _ask if not is_script and any(stream.isatty() for stream in streams) else _always_yes


def _ask(question: str) -> bool:
    import signal

    try:
        number = os.open(_terminal(), os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise UsageError(
            f"{question} cannot ask, since there is no terminal: {error.strerror}", "add -y to confirm"
        ) from None
    response = ""
    with (
        os.fdopen(number, "wb", 0) as out,
        os.fdopen(number, encoding="utf-8", errors="replace", closefd=False) as keys,
    ):
        out.write(f"{question} [y/N] ".encode("utf-8", "backslashreplace"))
        try:
            response = keys.readline()
        except (KeyboardInterrupt, SystemExit) as interrupt:
            interrupt.add_note(f"{question} interrupted; nothing was changed")
            raise
        except OSError:  # the terminal was closed, without SIGHUP if the leader of the session survives it
            closed = SystemExit(128 + signal.SIGHUP)
            closed.add_note(f"{question} the terminal was closed; nothing was changed")
            raise closed from None
        finally:
            if not response.endswith("\n"):  # after ^C or ^D
                with suppress(OSError):  # the terminal may be closed
                    out.write(b"\n")
        return response.strip().lower() in ("y", "yes")


def _terminal() -> str:
    """The terminal of standard input, otherwise the controlling terminal of the process."""
    return os.ttyname(sys.stdin.fileno()) if sys.stdin.isatty() else "/dev/tty"


def _always_yes(question: str) -> bool:
    return True


class ScriptOptions(NamedTuple):
    """The commands to run, and the cluster."""

    url: str = ""
    context: str = ""
    script: str = ""  # a file, or `-`
    commands: tuple[str, ...] = ()
    keep_going: bool = False
    read_only: bool = False
    settings_problems: Callable[[Path], list[str]] = lambda folder: []


class _Cluster:
    """The cluster of a run, chosen (and if embedded, started) when the first command needs it."""

    def __init__(self, options: ScriptOptions, printer: Printer) -> None:
        self.options, self.printer = options, printer
        self.profiles = session.profiles()
        self._profile: Profile | None = None
        self._attached: Embedded | None = None

    def known(self) -> Profile | None:
        return self._profile or session.choose(self.options.url, self.options.context, self.profiles)

    def profile(self) -> Profile:
        if self._profile is None:
            self._profile = self.known() or self._embedded()
            if self.options.read_only:
                self._profile = self._profile.as_read_only()
        return self._profile

    def _embedded(self) -> Profile:
        from tui.embedded import attach

        self._attached = attach()
        return Profile(self._attached.url, "embedded", bootstrap=self._attached.bootstrap)

    def open_connection(self) -> Connect:
        profile = self.profile()
        connect = self.connect_other(profile)
        self._remind(profile)
        return connect

    def connect_other(self, profile: Profile) -> Connect:
        """A client for the cluster of any context."""
        if self.options.read_only and not profile.read_only:
            profile = profile.as_read_only()
        transport = session.audited(session.blocking(profile), profile, "script", self.printer.report)
        connect = session.connect(profile, transport)
        connect.notice = self.printer.report
        return connect

    def _remind(self, profile: Profile) -> None:
        """Reminds the user of interrupted changes of offsets; without any, their modules are not imported."""
        if not any(state_folder(os.environ).glob("changes/*/*.json")):
            return
        from tui.offsets.change_store import change_store

        try:
            for intent in change_store(profile.label).pending.interrupted():
                name = intent.plan.name
                self.printer.report(
                    f"{name}: {intent.text}; run `finish {name}` to complete the change, or add --back to undo it"
                )
        except HeadraceError as error:  # an unreadable record must not block other work
            self.printer.report(f"headrace: {error}")

    def detach(self) -> None:
        if self._attached is not None:
            self._attached.detach()


def run(options: ScriptOptions) -> int:
    """Runs the commands and returns the exit code. Raises HeadraceError."""
    from tui.commands.settling import usual_settling

    printer = Printer(colour=_colour())
    cluster = _Cluster(options, printer)
    texts = _lines(_read(options.script, stdin_taken=False)) if options.script else list(options.commands)
    context = CommandContext(
        CommandCluster(
            cluster.open_connection,
            cluster.profile,
            cluster.profiles,
            known_profile=cluster.known,
            connect_other=cluster.connect_other,
        ),
        CommandFiles(lambda path: _read(path, stdin_taken=options.script == "-"), options.settings_problems),
        CommandTerminal(
            printer.report,
            asker(is_script=bool(options.script)),
            printer.item,
            printer.signal if sys.stderr.isatty() else None,
        ),
        settling=usual_settling(),
    )
    with _ends_on_signals():
        try:
            return run_texts(texts, context, printer, options.keep_going, numbered=bool(options.script))
        except (KeyboardInterrupt, SystemExit) as interrupt:
            for note in getattr(interrupt, "__notes__", ()):
                printer.report(f"headrace: {note}")
            raise
        finally:
            drive(context.cluster.close())
            cluster.detach()


def _lines(script: str) -> list[str]:
    """The lines, as Python reads a text file. Not splitlines(): JSON may contain its other separators."""
    return script.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _read(path: str, stdin_taken: bool) -> str:
    """A file's text, or standard input's for `-`."""
    if path == "-":
        if stdin_taken:
            raise UsageError("standard input is the script itself: use @FILE")
        return read_standard_input()
    return read_text(path)


def _colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def _ends_on_signals() -> Iterator[None]:
    """SIGTERM, and SIGHUP unless `nohup` ignores it, unwind like ^C: the embedded cluster is detached."""
    import signal

    def exit_process(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, exit_process)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])
