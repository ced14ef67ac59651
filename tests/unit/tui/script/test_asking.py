"""Confirmation is asked at the terminal even with redirected streams, and never without a terminal."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.support.servers.stub_worker import Raw, StubWorker, stub_worker
from tests.support.waiting import wait_until

DELETE = ("DELETE", "/connectors/x")
REDIRECTED = ["", "2>err", ">out", ">out 2>err", "</dev/null", "</dev/null 2>err", "2>&-", "<&- 2>err"]


def environ(folder: Path) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "TERM": "xterm"}


def answered(line: str, answer: str, folder: Path) -> str:
    """Runs the line in a terminal and answers the question; returns the output."""
    shell = pexpect.spawn("/bin/sh", ["-c", line], cwd=str(folder), env=environ(folder), timeout=20, encoding="utf-8")
    shell.expect(r"delete x\? \[y/N\] ")
    shell.sendline(answer)
    shell.expect(pexpect.EOF)
    shell.close()
    return str(shell.before)


async def asked(worker: StubWorker, where: str, answer: str, folder: Path) -> None:
    line = f"{sys.executable} -m tui.main {worker.url} -c 'delete x' {where}"
    await asyncio.to_thread(answered, line, answer, folder)


@pytest.mark.parametrize("where", REDIRECTED)
async def test_confirmation_is_asked_with_any_redirection(where: str, tmp_path: Path) -> None:
    async with stub_worker({"DELETE /connectors/x": Raw(b"", 204)}) as worker:
        await asked(worker, where, "n", tmp_path)
        assert DELETE not in worker.seen
        await asked(worker, where, "y", tmp_path)
        assert DELETE in worker.seen


@pytest.mark.parametrize(
    ("key", "code", "text"),
    [("\x03", 130, "delete x? interrupted; nothing was changed"), ("\x04", 1, "delete x: not confirmed; nothing was")],
)
async def test_the_end_of_a_question_is_reported_on_a_line_of_its_own(
    key: str, code: int, text: str, tmp_path: Path
) -> None:
    async with stub_worker({}) as worker:

        def end() -> tuple[str, int | None]:
            words = ["-m", "tui.main", worker.url, "-c", "delete x"]
            program = pexpect.spawn(sys.executable, words, env=environ(tmp_path), timeout=45, encoding="utf-8")
            program.expect(r"delete x\? \[y/N\] ")
            program.send(key)
            program.expect(pexpect.EOF)
            program.close()
            return str(program.before), program.exitstatus

        printed, exit_code = await asyncio.to_thread(end)
        assert exit_code == code
        assert f"\nheadrace: {text}" in printed and printed.endswith("\n")
        assert DELETE not in worker.seen


async def test_a_terminal_that_is_closed_at_a_question_ends_the_command(tmp_path: Path) -> None:
    """Also if the leader of the session survives it, so that the command gets no SIGHUP."""
    ended = tmp_path / "ended"
    async with stub_worker({}) as worker:

        def close() -> None:
            line = f"trap : HUP; {sys.executable} -m tui.main {worker.url} -c 'delete x' 2>err; echo $? >ended"
            shell = pexpect.spawn("/bin/sh", ["-c", line], cwd=str(tmp_path), env=environ(tmp_path), timeout=45)
            shell.expect(r"delete x\? \[y/N\] ")
            os.close(shell.child_fd)
            wait_until(lambda: ended.exists() and ended.read_text(), 45)

        await asyncio.to_thread(close)
        assert int(ended.read_text()) == 129
        assert DELETE not in worker.seen


async def run(worker: StubWorker, *words: str, folder: Path) -> tuple[int, str]:
    """Runs in a new session, which has no terminal."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tui.main", worker.url, *words, env=environ(folder), start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, err = await process.communicate()
    return process.returncode or 0, err.decode()


async def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    async with stub_worker({"DELETE /connectors/x": Raw(b"", 204)}) as worker:
        assert await run(worker, "-c", "delete x", folder=tmp_path) == (0, "x: deleted\n")


async def test_a_terminal_that_cannot_answer_requires_y(tmp_path: Path) -> None:
    """The output is a terminal, but not the session's terminal, so no user can answer."""
    ours, theirs = os.openpty()
    async with stub_worker({"DELETE /connectors/x": Raw(b"", 204)}) as worker:
        for words, code in ((["delete x"], 2), (["delete x -y"], 0)):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tui.main", worker.url, "-c", *words, env=environ(tmp_path),
                stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            _, err = await process.communicate()
            assert process.returncode == code
            assert ("add -y" in err.decode()) is bool(code)
            assert (DELETE in worker.seen) is not bool(code)
    os.close(ours)
    os.close(theirs)
