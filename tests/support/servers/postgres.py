"""A real PostgreSQL server for tests, from Debian's package `postgresql`, on a random port of the loopback interface.

As root the server runs as the user `postgres`, since PostgreSQL refuses to run as root. Clients authenticate with a
password (SCRAM)."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from runtime.system.processes import die_with_parent
from tests.support.free_ports import free_port
from tests.support.packages.debian import PackageMissing, installed, skip_unless_ci
from tests.support.waiting import wait_until

PASSWORD = "s3cret/p@ss"
USER = "headrace"
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "60",
    "max_prepared_transactions": "20",
    "shared_buffers": "64MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}
_PORTS = 5  # that are tried
_PORT_TAKEN = "could not create any TCP/IP sockets"


@functools.cache
def programs() -> Path:
    """The folder of PostgreSQL's programs, installed if it is missing; PackageMissing with the reason."""
    return installed(_find, "postgresql")


def _find() -> Path | None:
    if there := shutil.which("initdb"):
        return Path(there).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return versions[-1].parent if versions else None


class _PortTakenError(AssertionError):
    """The server has ended because another process has its port."""


class Postgres:
    """A server with a data folder of its own."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        """`settings` are further settings of postgresql.conf."""
        self._bin = programs()
        self._root = os.geteuid() == 0
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-pg-", dir="/tmp"))
        self.port = free_port()
        self._settings = {
            **_SETTINGS,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            **(settings or {}),
        }

    def start(self) -> None:
        """Creates the data folder if needed, and starts the server: at another port if a process has taken the one that
        was chosen, and at the same port after a stop."""
        data = self._folder / "data"
        is_new = not data.exists()
        if is_new:
            secret = self._folder / "password"
            secret.write_text(PASSWORD)
            if self._root:
                for path in (self._folder, secret):
                    shutil.chown(path, "postgres", "postgres")
            self._run("initdb", "-D", str(data), "-U", USER, "-A", "scram-sha-256", "--pwfile", str(secret), "-N",
                      "-E", "UTF8", "--locale=C.UTF-8")  # fmt: skip
            with (data / "postgresql.conf").open("a") as conf:
                conf.writelines(f"{key} = '{value}'\n" for key, value in self._settings.items())
        for left in reversed(range(_PORTS if is_new else 1)):
            self._launch(data)
            try:
                wait_until(self._answers, 60, "PostgreSQL answers")
                return
            except _PortTakenError:
                if not left:
                    raise
                self.port = free_port()

    def _launch(self, data: Path) -> None:
        with (self._folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                self._command("postgres", "-D", str(data), "-p", str(self.port)),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(),
            )

    def stop(self) -> None:
        """Stops the server at once, like a crash."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait(30)

    def remove(self) -> None:
        """Stops the server and deletes its data."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def standby(self) -> Postgres:
        """A started server that replays what this one writes, and that can be read."""
        standby = Postgres()
        if self._root:
            shutil.chown(standby._folder, "postgres", "postgres")
        data = str(standby._folder / "data")
        standby._run("pg_basebackup", "-D", data, "-R", "-X", "stream", "-c", "fast", "-d", self.conninfo("postgres"))
        standby.start()
        return standby

    def _answers(self) -> bool:
        import psycopg

        assert self._process is not None
        if self._process.poll() is not None:
            text = (self._folder / "log").read_text()[-2000:]
            raise (_PortTakenError if _PORT_TAKEN in text else AssertionError)(f"PostgreSQL has ended: {text}")
        try:
            psycopg.connect(self.conninfo("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def create_database(self, name: str) -> str:
        """Creates a database and returns its name."""
        self.execute(f'CREATE DATABASE "{name}"', database="postgres")
        return name

    def execute(self, statement: str, *parameters: object, database: str) -> list[tuple[Any, ...]]:
        """Runs a statement and commits; the rows that it returns."""
        import psycopg

        with psycopg.connect(self.conninfo(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    def conninfo(self, database: str) -> str:
        """How psycopg connects."""
        return f"host=127.0.0.1 port={self.port} user={USER} password='{PASSWORD}' dbname={database}"

    def config(self, database: str) -> dict[str, str]:
        """The connection's keys for a connector."""
        url = f"jdbc:postgresql://127.0.0.1:{self.port}/{database}"
        return {"connection.url": url, "connection.user": USER, "connection.password": PASSWORD}

    def cdc_config(self, database: str) -> dict[str, str]:
        """The same for connectors that read the log."""
        return {
            "database.hostname": "127.0.0.1", "database.port": str(self.port), "database.user": USER,
            "database.password": PASSWORD, "database.dbname": database,
        }  # fmt: skip

    def drop_slot(self, slot: str, database: str) -> None:
        """Drops a slot of a database, once no connector uses it: it keeps the log of all databases."""
        of_name = "FROM pg_replication_slots WHERE slot_name = %s"
        drop, left = f"SELECT pg_drop_replication_slot(slot_name) {of_name} AND NOT active", f"SELECT 1 {of_name}"
        wait_until(
            lambda: self.execute(drop, slot, database=database) or not self.execute(left, slot, database=database),
            30, "the slot is dropped", every=0.2,
        )  # fmt: skip

    def _command(self, program: str, *arguments: str) -> list[str]:
        """As root the program runs as postgres, and is killed if this process dies, which changing the user prevents
        otherwise."""
        command = [str(self._bin / program), *arguments]
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL"]
        return [*user, *command] if self._root else command

    def _run(self, program: str, *arguments: str) -> None:
        log = self._folder / "commands.log"
        with log.open("a") as out:
            command = self._command(program, *arguments)
            done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
        assert done.returncode == 0, f"{program}: {log.read_text()[-2000:]}"


def started_postgres(settings: dict[str, str] | None = None) -> Postgres:
    """A running server. Skips the test with the reason if PostgreSQL cannot be installed; in CI the test fails."""
    try:
        server = Postgres(settings)
    except PackageMissing as missing:
        skip_unless_ci(missing)
    server.start()
    return server
