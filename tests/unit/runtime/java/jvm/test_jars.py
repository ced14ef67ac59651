"""Downloads of jars: complete or absent, and only once."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runtime.embedded.broker import broker
from runtime.java.jvm import jars
from runtime.java.jvm.errors import JarsError
from runtime.java.jvm.java import Java, find_java
from tests.support.java.connect_jars import JAVA_CONNECT
from tests.support.waiting import wait_until

SMALL = ("org.slf4j:slf4j-simple:1.7.36",)


def test_jars_are_downloaded_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    output = io.StringIO()
    folder = jars.fetch("small", SMALL, find_java(), output)
    assert [file.name for file in folder.iterdir()] == ["slf4j-simple-1.7.36.jar"]
    assert output.getvalue().startswith("downloading the 1 jars of the small")
    # Temporary files are removed, and a second call does nothing.
    assert sorted(file.name for file in folder.parent.iterdir()) == [".lock", folder.name]
    again = io.StringIO()
    assert jars.fetch("small", SMALL, find_java(), again) == folder
    assert again.getvalue() == ""


def test_a_killed_download_is_resumed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    several = (*SMALL, "org.slf4j:slf4j-api:1.7.36", "net.sf.jopt-simple:jopt-simple:5.0.4")
    program = f"from runtime.java.jvm import jars, java\njars.fetch('several', {several!r}, java.find_java())"
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as first:
        assert first.stderr is not None
        first.stderr.readline()
        wait_until(lambda: list(tmp_path.rglob("cache/*")) or first.poll() is not None, 30)
        first.kill()
    folder = jars.fetch("several", several, find_java(), io.StringIO())
    assert len(list(folder.glob("*.jar"))) == len(several)


def test_missing_jars_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    absent = (*SMALL, "org.apache.kafka:no-such-jar:4.3.0")
    with pytest.raises(JarsError, match="no-such-jar"):
        jars.fetch("absent", absent, find_java(), io.StringIO())
    assert not jars.folder_of("absent", absent).exists()


def test_the_download_uses_the_temporary_folder_of_this_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Java ignores TMPDIR."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", "/elsewhere")
    program = tmp_path / "java"
    program.write_text('#!/bin/sh\necho "error: $*"\nexit 1\n')
    program.chmod(0o700)
    with pytest.raises(JarsError, match=r"-Djava\.io\.tmpdir=/elsewhere "):
        jars.fetch("small", SMALL, Java(program, 17, "17"), io.StringIO())


def test_a_cache_that_cannot_be_written_is_reported_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cache").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(JarsError, match="set XDG_CACHE_HOME"):
        jars.fetch("small", SMALL, find_java(), io.StringIO())


def test_each_list_has_its_own_folder() -> None:
    assert jars.folder_of("a", SMALL) != jars.folder_of("a", broker.BROKER)
    assert jars.folder_of("a", SMALL) == jars.folder_of("a", SMALL)


@pytest.mark.parametrize("listed", [broker.BROKER, JAVA_CONNECT])
def test_coordinates_are_pinned_and_unique(listed: tuple[str, ...]) -> None:
    parts = [coordinate.split(":") for coordinate in listed]
    assert all(len(part) == 3 and all(part) for part in parts)
    assert len({f"{name}-{revision}" for _, name, revision in parts}) == len(listed)
    assert not set(broker.BROKER) & set(JAVA_CONNECT)
