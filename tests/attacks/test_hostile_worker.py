"""A worker that the console reads from, a webhook, or whoever writes configs, tries to stop the console or to draw on
its screen."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from socket import create_server, socket

import pytest

from tui.commands.targets import selector
from tui.errors import UsageError
from tui.offsets.seek import topic_filter
from tui.watch.conditions import condition
from tui.watch.incidents import IncidentChange
from tui.watch.notifying import Notifier
from tui.watch.rules import Rule
from tui.widgets.text import MAX_DRAWN, visible

ENDLESS = "(a|a)+b"
NAMES = ["a" * 60] * 1000


def test_an_expression_of_a_user_that_never_ends_is_refused() -> None:
    started = time.process_time()
    with pytest.raises(UsageError, match="takes too long"):
        list(map(selector([ENDLESS], regex=True), NAMES))
    assert time.process_time() - started < 20


def test_topics_regex_of_a_config_that_never_ends_matches_nothing() -> None:
    is_read, started = topic_filter({"topics.regex": ENDLESS}), time.process_time()
    assert not any(map(is_read, NAMES))
    assert time.process_time() - started < 20


@pytest.mark.parametrize("pattern", ["(" * 5000 + ")" * 5000, "(", "a{99999999999999999999}"])
def test_an_expression_that_cannot_be_compiled_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="is not a regular expression"):
        selector([pattern], regex=True)
    assert not topic_filter({"topics.regex": pattern})("a")


def test_a_name_of_megabytes_is_cut_before_it_is_drawn() -> None:
    shown = visible("\x1b[2J" + "x" * 10_000_000)
    assert len(shown) == MAX_DRAWN
    assert (shown[0], shown[-1]) == ("␛", "…")


def _endless(server: socket, sent: list[int]) -> None:
    connection, _ = server.accept()
    with connection, suppress(OSError):
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while sent[0] < 1 << 28:
            connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            sent[0] += 0x10000


def _notified(webhook: str) -> list[str]:
    problems: list[str] = []
    notifier = Notifier("prod", None, problems.append)
    notifier.notify(IncidentChange(Rule(condition("failed"), webhook=webhook), True, (("a", "is FAILED"),)))
    notifier.close()
    return problems


def test_a_webhook_whose_response_never_ends_is_done_after_the_status() -> None:
    sent = [0]
    with create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_endless, args=(server, sent))
        thread.start()
        assert _notified(f"http://127.0.0.1:{server.getsockname()[1]}/hook") == []
        thread.join(30)
    assert sent[0] < 1 << 26  # what sockets buffer


def test_a_webhook_cannot_redirect_the_console_to_an_internal_address() -> None:
    with create_server(("127.0.0.1", 0)) as internal, create_server(("127.0.0.1", 0)) as server:
        internal.settimeout(0.5)
        to = f"http://127.0.0.1:{internal.getsockname()[1]}/".encode()
        reply = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % to
        thread = threading.Thread(target=_reply, args=(server, reply))
        thread.start()
        assert _notified(f"http://127.0.0.1:{server.getsockname()[1]}/hook") == [
            "rule failed: the webhook failed: HTTP 307"
        ]
        thread.join(30)
        with pytest.raises(TimeoutError):
            internal.accept()


def _reply(server: socket, reply: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(reply)
