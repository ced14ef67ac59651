"""What a worker and the embedded cluster need of a machine."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from runtime.doctor.finding import Finding, bad, note, ok
from runtime.embedded import paths
from runtime.embedded.broker import coordinates, jars
from runtime.embedded.broker.java import find_java
from runtime.embedded.errors import JarsError, JavaError
from runtime.embedded.processes import ports

CONSOLE = ("textual", "httpx", "orjson", "pyyaml")
RUNTIME = ("pyspark", "confluent-kafka", "kafka-python", "starlette", "uvicorn")
EXTRA = "pip install 'headrace[runtime]'"

_OLDEST = (3, 11)
_FILES = 1024  # open files that a thousand connectors get by with
_DISK = 500 * 1024 * 1024  # jars, Spark's own files, a small broker's data
_REST, _BROKER = 8083, 9092


def findings() -> Iterator[Finding]:
    """All of them, in the order in which one would mend them."""
    yield _python()
    yield _packages("console", CONSOLE, "pip install headrace")
    if not any(_version(package) for package in RUNTIME):
        yield note(
            "runtime", "not installed; the console works without it", f"for worker and embedded cluster, {EXTRA}"
        )
        return
    yield _packages("runtime", RUNTIME, EXTRA)
    yield _java()
    yield _pyspark()
    yield _jars()
    yield _port(_REST, "the worker's REST API", "name another one in the worker's `listeners`")
    yield _port(_BROKER, "the embedded broker", "the embedded cluster takes another one by itself")
    yield _open_files()
    yield from (_folder(folder) for folder in (paths.cache_folder(), paths.state_folder().parent))


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < _OLDEST:
        return bad("Python", f"{version} is too old", "use Python 3.11 or newer")
    return ok("Python", f"{version} ({sys.executable})")


def _packages(what: str, packages: tuple[str, ...], remedy: str) -> Finding:
    versions = {package: _version(package) for package in packages}
    missing = [package for package, version in versions.items() if version is None]
    if missing:
        return bad(what, f"without {', '.join(missing)}", remedy)
    return ok(what, ", ".join(f"{package} {version}" for package, version in versions.items()))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _java() -> Finding:
    try:
        java = find_java()
    except JavaError as e:
        found, _, remedy = str(e).partition(": ")
        return bad("Java", found, remedy)
    return ok("Java", f"{java.version} ({java.program})")


def _pyspark() -> Finding:
    """PySpark with the jars that its wheel brings; a source checkout or a half-made install has none."""
    if _version("pyspark") is None:
        return bad("Spark", "PySpark is missing", EXTRA)
    try:
        folder = jars.ivy_jar().parent
    except JarsError:
        return bad("Spark", "PySpark has no jars", "install it anew: pip install --force-reinstall pyspark")
    home = os.environ.get("SPARK_HOME")
    if home and Path(home).resolve() != folder.parent.resolve():
        return note(
            "Spark",
            f"SPARK_HOME is {home}",
            f"unset it if the engine does not start: PySpark has its own in {folder.parent}",
        )
    return ok("Spark", f"{_version('pyspark')} ({len(list(folder.glob('*.jar')))} jars)")


def _jars() -> Finding:
    folder = jars.folder_of("broker", coordinates.BROKER)
    if folder.is_dir():
        return ok("jars", f"of the embedded broker: {folder}")
    return note("jars", "of the embedded broker: not here yet", "`headrace embedded up` fetches them once (41 MB)")


def _port(port: int, of: str, remedy: str) -> Finding:
    if ports.choose(port) == port:
        return ok("port", f"{port} is free ({of})")
    return note("port", f"{port} is taken ({of})", remedy)


def _open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES:
        return note("files", f"only {soft} may be open at once", f"ulimit -n {_FILES} (the limit for that is {hard})")
    return ok("files", f"{soft} may be open at once" if soft != resource.RLIM_INFINITY else "no limit")


def _folder(folder: Path) -> Finding:
    """Whether it, or its first parent that exists, can be written to and has room."""
    place = next(p for p in (folder, *folder.parents) if p.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        return bad(
            "folder", f"{folder} is not writable", "give it to this user, or set XDG_CACHE_HOME and XDG_STATE_HOME"
        )
    free = shutil.disk_usage(place).free
    if free < _DISK:
        return bad("folder", f"{folder}: {free >> 20} MB are free", f"{_DISK >> 20} MB are needed")
    return ok("folder", f"{folder} ({free >> 30} GB free)")
