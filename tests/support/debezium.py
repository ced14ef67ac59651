"""Debezium's connectors for Apache's worker, from Maven Central, downloaded once."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from runtime.system.cache import cache_folder
from runtime.system.locks import exclusive

VERSION = "3.2.0.Final"
_ARTIFACTS = ("debezium-connector-postgres", "debezium-connector-jdbc")
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


class DebeziumMissing(Exception):
    """The plugins could not be downloaded; the text is the reason."""


def debezium_plugins() -> Path:
    """A folder for `plugin.path` with the PostgreSQL source and the JDBC sink."""
    folder = cache_folder() / "jars" / f"debezium-{VERSION}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(folder.parent / ".debezium.lock"):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".debezium-") as work:
                _download(Path(work))
                (Path(work) / "plugins").rename(folder)
    return folder


def _download(work: Path) -> None:
    if shutil.which("mvn") is None:
        raise DebeziumMissing("Maven is missing: install mvn to measure beside Debezium")
    plugins = work / "plugins"
    plugins.mkdir()
    for name in _ARTIFACTS:
        artifact = f"-Dartifact=io.debezium:{name}:{VERSION}:tar.gz:plugin"
        command = ["mvn", "-q", "-B", _COPY, artifact, f"-DoutputDirectory={work}"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise DebeziumMissing(f"Maven cannot download {name}: {done.stdout.strip().splitlines()[:1]}")
        with tarfile.open(work / f"{name}-{VERSION}-plugin.tar.gz") as archive:
            archive.extractall(plugins, filter="data")
