"""Checks whether the machine meets the needs of a worker and the embedded cluster."""

from __future__ import annotations

import importlib.util
import os
import platform
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from runtime.doctor.check_result import CheckResult, bad, note, ok
from runtime.embedded import state
from runtime.embedded.broker import broker
from runtime.embedded.processes import ports
from runtime.java.jvm import jars
from runtime.java.jvm.errors import JarsError, JavaError
from runtime.java.jvm.java import find_java
from runtime.system.cache import cache_folder
from runtime.system.cgroup import Cgroup, usable_cores

CONSOLE = ("textual", "httpx", "orjson", "pyyaml")
RUNTIME = ("pyspark", "confluent-kafka", "kafka-python", "starlette", "uvicorn")
EXTRA = "pip install 'headrace[runtime]'"

Version = Callable[[str], str | None]

_OLDEST_PYTHON = (3, 11)
_MIN_OPEN_FILES = 1024  # enough for a thousand connectors
_SPARK_OPEN_FILES = 320  # Spark does not start with 256
_MIN_MEMORY = 512  # MB
_MIN_DISK = 500 * 1024 * 1024  # bytes: jars, Spark's files, the data of a small broker


def installed_version(package: str) -> str | None:
    """The version of an installed Python package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_machine(version: Version = installed_version) -> Iterator[CheckResult]:
    """All checks, in the order in which problems should be fixed. `version` looks up installed packages."""
    yield _python()
    yield _packages("console", CONSOLE, "pip install headrace", version)
    if not any(version(package) for package in RUNTIME):
        yield note(
            "runtime", "not installed; the console works without it", f"for worker and embedded cluster, {EXTRA}"
        )
        return
    yield _packages("runtime", RUNTIME, EXTRA, version)
    yield _java()
    yield _pyspark(version)
    yield _jars()
    yield _port(ports.REST_PORT, "the worker's REST API", "set another port in the worker's `listeners`")
    yield _port(ports.KAFKA_PORT, "the embedded broker", "the embedded cluster chooses another port itself")
    group = Cgroup()
    yield _cores(group)
    yield _memory(group)
    yield _open_files()
    yield _temporary(Path(tempfile.gettempdir()))
    yield from (_folder(folder) for folder in (cache_folder(), state.state_folder().parent))


def _python() -> CheckResult:
    version = platform.python_version()
    if sys.version_info < _OLDEST_PYTHON:
        return bad("Python", f"{version} is too old", "use Python 3.11 or newer")
    return ok("Python", f"{version} ({sys.executable})")


def _packages(what: str, packages: tuple[str, ...], remedy: str, version: Version) -> CheckResult:
    versions = {package: version(package) for package in packages}
    missing = [package for package, version in versions.items() if version is None]
    if missing:
        return bad(what, f"missing: {', '.join(missing)}", remedy)
    return ok(what, ", ".join(f"{package} {version}" for package, version in versions.items()))


def _java() -> CheckResult:
    try:
        java = find_java()
    except JavaError as e:
        finding, _, remedy = str(e).partition(": ")
        return bad("Java", finding, remedy)
    return ok("Java", f"{java.version} ({java.program})")


def _pyspark(version: Version) -> CheckResult:
    """PySpark and the jars of its wheel, which a source checkout or an interrupted installation lacks."""
    if version("pyspark") is None:
        return bad("Spark", "PySpark is missing", EXTRA)
    try:
        folder = jars.ivy_jar().parent
    except JarsError:
        spec = importlib.util.find_spec("pyspark")
        places = ", ".join((spec and spec.submodule_search_locations) or ())
        remedy = "reinstall it (pip install --force-reinstall pyspark), or remove another PySpark from PYTHONPATH"
        return bad("Spark", f"PySpark in {places} has no jars", remedy)
    home = os.environ.get("SPARK_HOME")
    if home and Path(home).resolve() != folder.parent.resolve():
        return note(
            "Spark",
            f"SPARK_HOME is {home}",
            f"unset it if the engine does not start; PySpark brings Spark in {folder.parent}",
        )
    return ok("Spark", f"{version('pyspark')} ({len(list(folder.glob('*.jar')))} jars)")


def _jars() -> CheckResult:
    folder = jars.folder_of("broker", broker.BROKER)
    if folder.is_dir():
        return ok("jars", f"of the embedded broker: {folder}")
    return note("jars", "of the embedded broker: not downloaded", "`headrace embedded up` downloads them (41 MB)")


def _port(port: int, service: str, remedy: str) -> CheckResult:
    try:
        free = ports.choose(port) == port
    except OSError as error:  # no port at all
        return bad(
            "port", f"{ports.HOST}: {error.strerror}", "Spark needs it: give the loopback interface this address"
        )
    if free:
        return ok("port", f"{port} is free ({service})")
    return note("port", f"{port} is in use ({service})", remedy)


def _cores(group: Cgroup) -> CheckResult:
    quota = "" if group.cores is None else f", by a quota of {group.cores:g}"
    return ok("cores", f"{usable_cores(group)} of {os.cpu_count()} may be used{quota}")


def _memory(group: Cgroup) -> CheckResult:
    if group.memory_limit is None:
        return ok("memory", "no limit by a control group")
    limit = f"limited to {group.memory_limit >> 20} MB by the control group"
    if group.memory_limit >> 20 < _MIN_MEMORY:
        return note("memory", limit, f"a worker needs {_MIN_MEMORY} MB, with Java plugins or Spark connectors more")
    return ok("memory", limit)


def _open_files() -> CheckResult:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _SPARK_OPEN_FILES:
        remedy = f"raise the hard limit to {_MIN_OPEN_FILES} (LimitNOFILE= of systemd, /etc/security/limits.conf)"
        return bad("files", f"at most {hard} open files: Spark needs {_SPARK_OPEN_FILES}", remedy)
    if soft != resource.RLIM_INFINITY and soft < _MIN_OPEN_FILES:
        return note("files", f"at most {soft} open files", f"ulimit -n {_MIN_OPEN_FILES} (the hard limit is {hard})")
    return ok("files", f"at most {soft} open files" if soft != resource.RLIM_INFINITY else "no limit of open files")


def _temporary(folder: Path) -> CheckResult:
    """Whether the libraries run that Java unpacks there."""
    if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        remedy = "set -Djava.io.tmpdir in spark.driver.extraJavaOptions and headrace.java.options"
        return note("folder", f"{folder} (TMPDIR) is mounted with noexec: no Snappy, LZ4 or Zstandard in Java", remedy)
    return ok("folder", f"{folder} (TMPDIR)")


def _folder(folder: Path) -> CheckResult:
    """Whether the folder, or its first existing parent, is writable and has enough free space."""
    place = next(p for p in (folder, *folder.parents) if p.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        return bad(
            "folder",
            f"{folder} is not writable",
            "make it writable, or set XDG_CACHE_HOME and XDG_STATE_HOME",
        )
    free = shutil.disk_usage(place).free
    if free < _MIN_DISK:
        return bad("folder", f"{folder}: {free >> 20} MB free", f"free at least {_MIN_DISK >> 20} MB")
    return ok("folder", f"{folder} ({free >> 30} GB free)")
