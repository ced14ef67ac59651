"""A resolution ends although the repository is silent or the JVM prints a lot."""

from __future__ import annotations

import io
import socket
import sys
from pathlib import Path

import pytest

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.resolver import Repositories, Resolution, _run, resolve

NOISY = r"""
import sys
sys.stderr.write("warning\n" * 100_000)
sys.stderr.flush()
print("file\tg:a:1\t/a.jar")
"""


def test_a_repository_that_is_silent_fails_the_resolution(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        places = Repositories(f"http://127.0.0.1:{silent.getsockname()[1]}/", folder=tmp_path, silence=1.0)
        with pytest.raises(InstallError, match="could not be resolved"):
            resolve(Coordinate.parse("org.example:a:1"), places, io.StringIO())


@pytest.mark.timeout(30)
def test_a_jvm_that_prints_many_warnings_does_not_wait_for_a_reader() -> None:
    assert _run([sys.executable, "-c", NOISY], io.StringIO()) == Resolution([Path("/a.jar")])
