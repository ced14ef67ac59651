"""A server with Amazon's S3 API on loopback: Adobe's S3Mock, a Java server that keeps objects on disk.

It implements multipart uploads, ETags and the pages of listings, so that pyarrow's client runs the same code as against
Amazon S3. It does not check signatures.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from runtime.system.processes import die_with_parent
from tests.support.free_ports import free_port
from tests.support.waiting import wait_until

_S3MOCK = ("com.adobe.testing:s3mock:4.11.0:exec",)
_JVM = ("-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
BUCKET = "records"


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server with one bucket."""

    port: int

    @property
    def config(self) -> Mapping[str, str]:
        """The keys with which a files connector uses this server."""
        return {
            "s3.endpoint": f"http://127.0.0.1:{self.port}",
            "s3.region": "us-east-1",
            "s3.access.key.id": "test",
            "s3.secret.access.key": "a-secret-of-the-test",
        }

    def file_system(self) -> Any:
        """A pyarrow file system for the server's buckets."""
        from pyarrow import fs

        return fs.S3FileSystem(
            access_key="test",
            secret_key="a-secret-of-the-test",
            region="us-east-1",
            scheme="http",
            endpoint_override=f"127.0.0.1:{self.port}",
        )


def jar() -> Path:
    """S3Mock with its dependencies, downloaded once."""
    return next(jars.fetch("s3mock", _S3MOCK, find_java()).glob("*.jar"))


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """A server that runs within the context; `folder` gets its log and its objects."""
    java = find_java()
    port, tls_port = free_port(), free_port()
    command = [
        *(str(java.program), *_JVM, f"-Dcom.adobe.testing.s3mock.store.root={folder / 'objects'}"),
        *("-jar", str(jar()), "--server.address=127.0.0.1", f"--server.port={tls_port}"),
        *(f"--com.adobe.testing.s3mock.httpPort={port}", "--logging.level.root=WARN"),
        f"--com.adobe.testing.s3mock.store.initialBuckets={BUCKET}",
    ]
    (folder / "objects").mkdir(parents=True)
    with (folder / "s3mock.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=die_with_parent())
    try:
        wait_until(lambda: process.poll() is not None or _answers(port), 60, "S3Mock answers")
        assert process.poll() is None, (folder / "s3mock.log").read_text()
        yield S3Server(port)
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
