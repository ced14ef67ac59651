"""A real MariaDB server for tests, from Debian's package `mariadb-server-core`, on a random port of the loopback
interface."""

from __future__ import annotations

import getpass
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
_SETTINGS = (
    "--no-defaults", "--skip-networking=0", "--bind-address=127.0.0.1", "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=32M", "--character-set-server=utf8mb4", "--default-time-zone=+02:00",
)  # fmt: skip
"""The time zone of the server is none of those that connectors use."""


class MariaDb:
    """A server with a data folder of its own."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-maria-", dir="/tmp"))
        self.port = free_port()

    def start(self) -> None:
        """Creates the data folder and the user, and starts the server."""
        data, user = f"--datadir={self._folder}/data", f"--user={getpass.getuser()}"
        secret = self._folder / "users.sql"
        secret.write_text(
            f"CREATE USER IF NOT EXISTS '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT ALL ON *.* TO '{USER}'@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        with (self._folder / "log").open("a") as log:
            install = ["mariadb-install-db", "--no-defaults", user, data, "--skip-test-db"]
            install += ["--auth-root-authentication-method=normal"]
            subprocess.run(install, stdout=log, stderr=log, check=True)
            server = _find()
            assert server is not None
            socket = f"--socket={self._folder}/socket"
            self._process = subprocess.Popen(
                [server, *_SETTINGS, user, data, f"--init-file={secret}", f"--port={self.port}", socket],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(),
            )
        wait_until(self._answers, 60, "MariaDB answers")

    def remove(self) -> None:
        """Stops the server and deletes its data."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        shutil.rmtree(self._folder, ignore_errors=True)

    def create_database(self, name: str) -> str:
        """Creates a database and returns its name."""
        self.execute(f"CREATE DATABASE `{name}`", "mysql")
        return name

    def execute(self, statement: str, database: str) -> list[tuple[Any, ...]]:
        """Runs a statement and commits; the rows that it returns. Names may be in double quotes."""
        with self._connect(database) as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
            cursor.execute(statement)
            return list(cursor.fetchall())

    def config(self, database: str) -> dict[str, str]:
        """The connection's keys for a connector."""
        url = f"jdbc:mariadb://127.0.0.1:{self.port}/{database}"
        return {"connection.url": url, "connection.user": USER, "connection.password": PASSWORD}

    def _connect(self, database: str) -> Any:
        import pymysql

        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, database=database, autocommit=True
        )

    def _answers(self) -> bool:
        import pymysql

        assert self._process is not None
        log = self._folder / "log"
        assert self._process.poll() is None, f"MariaDB has ended: {log.read_text()[-2000:]}"
        try:
            self._connect("mysql").close()
        except pymysql.err.OperationalError:
            return False
        return True


def _find() -> str | None:
    """The server's program, if those that create its data folder are there too."""
    if shutil.which("mariadb-install-db") is None or shutil.which("my_print_defaults") is None:
        return None
    return shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")


def program() -> str:
    """The server's program, installed if it is missing; PackageMissing with the reason."""
    return installed(_find, "mariadb-server-core", "mariadb-client-core")  # without a service that would start


def started_mariadb() -> MariaDb:
    """A running server. Skips the test with the reason if MariaDB cannot be installed; in CI the test fails."""
    try:
        program()
    except PackageMissing as missing:
        skip_unless_ci(missing)
    server = MariaDb()
    server.start()
    return server
