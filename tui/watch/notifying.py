"""Notices about incidents: bell, desktop notice, command, webhook. Incidents of a rule that start or end together are
one notice, so that a thousand failures are no thousand calls."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from tui.back_off import BackOff
from tui.clipboard import through_multiplexer
from tui.contexts import secrets
from tui.errors import HeadraceError
from tui.formatting import counted, one_line
from tui.watch.incidents import CLUSTER, IncidentChange

MAX_NAMED = 10  # connectors that a notice names
MAX_TEXT = 200  # characters of a desktop notice
COMMAND_TIMEOUT, WEBHOOK_TIMEOUT = 30.0, 10.0  # seconds
MAX_VARIABLE = 60_000  # bytes of a command's variable; systems limit each, and all together
ATTEMPTS = 3  # of a webhook
BACK_OFF = BackOff(2.0, 60.0)
MAX_WAITING = 100  # notices that wait for commands and webhooks
CLOSE_TIMEOUT = 10.0  # seconds in which they are sent when the program ends

BELL = "\a"


class Notifier:
    """`terminal` writes control sequences; None: there is no terminal. `say` shows problems, on any thread."""

    def __init__(
        self, cluster: str, terminal: Callable[[str], None] | None, report: Callable[[str], None],
        environ: Mapping[str, str] = os.environ,
        *, back_off: BackOff = BACK_OFF, command_timeout: float = COMMAND_TIMEOUT,
    ) -> None:  # fmt: skip
        self._cluster, self._terminal, self._report, self._environ = cluster, terminal, report, environ
        self._waiting: queue.Queue[IncidentChange | None] = queue.Queue(MAX_WAITING)
        self._back_off, self._command_timeout = back_off, command_timeout
        self._thread: threading.Thread | None = None

    def notify(self, change: IncidentChange) -> None:
        """Rings and shows immediately; commands and webhooks run one after another on a thread."""
        rule = change.rule
        if self._terminal is not None:
            bell = BELL if rule.bell and change.started else ""
            notice = desktop_notice(text_of(change, self._cluster), self._environ) if rule.desktop else ""
            if bell or notice:
                self._terminal(notice + bell)
        if rule.command or rule.webhook:
            self._start()
            try:
                self._waiting.put_nowait(change)
            except queue.Full:
                self._report(f"rule {rule.title}: not sent, since {MAX_WAITING} notices are already waiting")

    def close(self) -> None:
        """Sends what waits, for a limited time."""
        if self._thread is not None:
            until = time.monotonic() + CLOSE_TIMEOUT
            with contextlib.suppress(queue.Full):
                self._waiting.put(None, timeout=CLOSE_TIMEOUT)
            self._thread.join(max(until - time.monotonic(), 0))

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="notices", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (change := self._waiting.get()) is not None:
            for send, wanted in ((self._command, change.rule.command), (self._webhook, change.rule.webhook)):
                if not wanted:
                    continue
                try:
                    send(change)
                except HeadraceError as error:
                    self._report(f"rule {change.rule.title}: {one_line(str(error))}")
                except Exception as error:  # later notices are sent all the same; its text may name the address
                    self._report(f"rule {change.rule.title}: not sent: {type(error).__name__}")

    def _command(self, change: IncidentChange) -> None:
        """Names of connectors reach the command in variables alone, never as a part of its text. It has no terminal."""
        import subprocess

        report = report_of(change, self._cluster)
        variables = {
            f"HEADRACE_{key.upper()}": _variable(" ".join(value) if isinstance(value, list) else str(value))
            for key, value in report.items()
        }
        try:
            process = subprocess.Popen(
                ["sh", "-c", change.rule.command], env={**self._environ, **variables}, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise HeadraceError(f"the command cannot be run: {error.strerror}") from None
        with process:
            try:
                _, errors = process.communicate(timeout=self._command_timeout)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
                raise HeadraceError(f"the command did not end within {self._command_timeout:g} s") from None
        if process.returncode:
            why = errors.decode(errors="replace").strip().partition("\n")[0]
            raise HeadraceError(f"the command failed with code {process.returncode}{f': {why}' if why else ''}")

    def _webhook(self, change: IncidentChange) -> None:
        """The address is a secret: errors name the rule and the kind of problem, never the address."""
        import httpx

        address, report = secrets.resolve(change.rule.webhook), report_of(change, self._cluster)
        problem = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                threading.Event().wait(self._back_off.pause(attempt))
            try:
                status = self._post(address, report)
            except (httpx.InvalidURL, httpx.UnsupportedProtocol, ValueError):
                raise HeadraceError("the webhook is not a valid http or https URL") from None
            except httpx.HTTPError as error:
                problem = type(error).__name__
                continue
            if 200 <= status < 300:
                return
            problem = f"HTTP {status}"
            if status < 500 and status != 429:
                break
        raise HeadraceError(f"the webhook failed: {problem}")

    def _post(self, address: str, report: dict[str, Any]) -> int:
        """The status of the response. Redirects are not followed, and the body is not read, since it may be endless."""
        import httpx

        from tui.wire.proxy import proxy_url

        proxy = proxy_url(address)
        with httpx.stream(
            "POST", address, json=report, timeout=WEBHOOK_TIMEOUT, follow_redirects=False, proxy=proxy, trust_env=False
        ) as response:
            return response.status_code


def _variable(text: str) -> str:
    """A text that fits into a variable of a process."""
    return text.replace("\0", " ").encode("utf-8", "replace")[:MAX_VARIABLE].decode("utf-8", "ignore")


def report_of(change: IncidentChange, cluster: str) -> dict[str, Any]:
    """The change for programs: the body of a webhook, and the variables of a command. `text` is what chats show."""
    return {
        "text": text_of(change, cluster),
        "event": "started" if change.started else "ended",
        "rule": change.rule.title,
        "severity": change.rule.severity,
        "cluster": cluster,
        "connectors": [name for name, _ in change.matches if name != CLUSTER],
        "details": [text for _, text in change.matches],
    }


def text_of(change: IncidentChange, cluster: str) -> str:
    """The change in one line: `CRITICAL on prod: orders 1 of 3 tasks FAILED`."""
    word = change.rule.severity.upper() if change.started else "ended"
    parts = [f"{name} {text}".strip() for name, text in change.matches[:MAX_NAMED]]
    more = len(change.matches) - len(parts)
    what = "; ".join(parts) + (f"; and {counted(more, 'more connector')}" if more else "")
    return one_line(f"{word} on {cluster}: {what}" + (f" ({change.rule.name})" if change.rule.name else ""))


def desktop_notice(text: str, environ: Mapping[str, str]) -> str:
    """The sequence of a desktop notice (OSC 9), also through tmux and screen. Empty for a terminal without them."""
    if environ.get("TERM", "") in ("", "dumb", "linux"):
        return ""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)[:MAX_TEXT]
    return through_multiplexer(f"\x1b]9;{printable}\x07", environ)
