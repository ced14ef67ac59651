"""Log files: their size limit, and the last error."""

from __future__ import annotations

from pathlib import Path

from runtime.embedded.processes.service import last_error, open_log

TROUBLE = """\
2026-01-01 [main] ERROR kafka.Kafka$ - Exiting Kafka due to fatal exception during startup.
java.lang.RuntimeException: Unable to start acceptor
\tat kafka.Kafka.main(Kafka.scala)
Caused by: java.net.BindException: Address already in use
\t... 3 more
2026-01-01 [hook] WARN NetworkClient - Closed already.
"""


def test_errors_precede_other_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert last_error(log) == "no output"
    log.write_text(TROUBLE)
    assert last_error(log) == "java.net.BindException: Address already in use"
    log.write_text("one\ntwo\n\n")
    assert last_error(log) == "two"


def test_lines_of_an_earlier_start_are_ignored(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(TROUBLE)
    since = open_log(log)
    assert last_error(log, since) == "no output"
    with log.open("a") as file:
        file.write("fresh\n")
    assert last_error(log, since) == "fresh"


def test_only_large_logs_are_moved(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert open_log(log) == 0
    log.write_bytes(b"x" * (10 * 1024 * 1024 + 1))
    assert open_log(log) == 0
    assert not log.exists() and (tmp_path / "log.1").exists()
