"""Downloads jars by Maven coordinates, once, with the Ivy that PySpark includes.

Ivy gets its own settings: by default it searches ~/.m2 first, where poms without jars break the resolution. Coordinates
are pinned, so neither poms nor transitive dependencies are requested.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from runtime.java.jvm.errors import JarsError
from runtime.java.jvm.java import Java, temporary_folder
from runtime.system.cache import cache_folder
from runtime.system.locks import LockHeldError, exclusive
from runtime.system.process_folder import work_folder
from runtime.system.processes import die_with_parent

SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <timeout-constraints>
    <timeout-constraint name="silence" connectionTimeout="20000" readTimeout="60000"/>
  </timeout-constraints>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false" timeoutConstraint="silence"/></resolvers>
</ivysettings>
"""
"""Without the constraint Ivy waits without limit for a server that no longer sends."""


def folder_of(name: str, coordinates: Sequence[str]) -> Path:
    """The folder of a set of jars, which may not exist yet. Each list of coordinates has its own folder."""
    digest = hashlib.sha256("\n".join(coordinates).encode()).hexdigest()[:16]
    return cache_folder() / "jars" / f"{name}-{digest}"


def fetch(name: str, coordinates: Sequence[str], java: Java, progress: TextIO | None = None) -> Path:
    """The folder with these jars, which are downloaded if it does not exist.

    An interrupted download is resumed by the next call; concurrent calls wait for each other, up to the limit of a
    lock. Raises JarsError.
    """
    folder = folder_of(name, coordinates)
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{folder.parent} cannot be created ({error.strerror}): set XDG_CACHE_HOME to a folder that is kept"
        raise JarsError(f"the jars of the {name} cannot be kept: {reason}") from None
    progress = progress or sys.stderr
    try:
        with exclusive(folder.parent / ".lock", progress):
            if not folder.is_dir():
                _fetch_into(folder, name, coordinates, java, progress)
    except LockHeldError as error:
        raise JarsError(f"the jars of the {name} are not there yet: {error}") from None
    return folder


def _fetch_into(folder: Path, name: str, coordinates: Sequence[str], java: Java, progress: TextIO) -> None:
    # Ivy's cache remains after an interruption, so that no jar is downloaded twice.
    work = folder.with_name(f".{folder.name}")
    work.mkdir(exist_ok=True)
    (work / "settings.xml").write_text(SETTINGS)
    (work / "ivy.xml").write_text(_module(coordinates))
    with work_folder(folder.parent) as temporary:
        target = temporary / "jars"
        _run_ivy(work, target, name, len(coordinates), java, progress)
        missing = [c for c in coordinates if not (target / _file_name(c)).is_file()]
        if missing:
            raise JarsError(f"{len(missing)} jars of the {name} could not be downloaded; the first is {missing[0]}")
        target.rename(folder)
    shutil.rmtree(work)


def _run_ivy(work: Path, target: Path, name: str, total: int, java: Java, progress: TextIO) -> None:
    command = [
        *(str(java.program), "-Xmx256m", temporary_folder(), "-jar", str(ivy_jar())),
        *("-settings", str(work / "settings.xml"), "-ivy", str(work / "ivy.xml"), "-cache", str(work / "cache")),
        *("-retrieve", f"{target}/[artifact]-[revision].[ext]"),
    ]
    print(f"downloading the {total} jars of the {name} (only once)", file=progress, flush=True)
    # The download ends with this process, so that it does not compete with the next start.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=die_with_parent()
    ) as ivy:
        try:
            output = _follow(ivy.stdout or (), name, total, progress)
        except BaseException:
            ivy.kill()
            raise
    if ivy.returncode:
        raise JarsError(
            f"the jars of the {name} could not be downloaded; check the network. Ivy reports: {_reason(output)}"
        )


def _follow(lines: Iterable[str], name: str, total: int, progress: TextIO) -> list[str]:
    output: list[str] = []
    done = 0
    terminal = progress.isatty()
    for line in lines:
        output.append(line.strip())
        if "[SUCCESSFUL ]" not in line:
            continue
        done += 1
        if terminal:
            print(f"\r  {name}: {done}/{total}", end="", file=progress, flush=True)
        elif done % 10 == 0:
            print(f"  {name}: {done}/{total}", file=progress, flush=True)
    if terminal and done:
        print(file=progress, flush=True)
    return output


def _reason(output: Sequence[str]) -> str:
    problems = [line for line in output if re.search(r"not found|error|Exception|timed out", line, re.IGNORECASE)]
    return (problems or list(output) or ["nothing"])[0]


def _module(coordinates: Sequence[str]) -> str:
    dependencies = "".join(map(_dependency, coordinates))
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">\n'
        '  <info organisation="headrace" module="jars"/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        f"  <dependencies>\n{dependencies}  </dependencies>\n</ivy-module>\n"
    )


def _dependency(coordinate: str) -> str:
    """`org:name:revision`, or `org:name:revision:classifier`."""
    org, name, revision, *classifier = coordinate.split(":")
    start = f'    <dependency org="{org}" name="{name}" rev="{revision}" transitive="false" conf="default->default"'
    if not classifier:
        return f"{start}/>\n"
    return f'{start}><artifact name="{name}" type="jar" m:classifier="{classifier[0]}"/></dependency>\n'


def _file_name(coordinate: str) -> str:
    _, name, revision, *_ = coordinate.split(":")
    return f"{name}-{revision}.jar"


def ivy_jar() -> Path:
    """The Ivy jar in PySpark, which is not imported. Raises JarsError."""
    spec = importlib.util.find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(place, "jars").glob("ivy-*.jar")):
            return jar
    raise JarsError("PySpark's Ivy jar was not found: pip install 'headrace[runtime]'")


def janino_jars() -> list[Path]:
    """The jars of PySpark's Janino, which compiles Java without a JDK. Raises JarsError."""
    folder = ivy_jar().parent
    return [*sorted(folder.glob("janino-*.jar")), *sorted(folder.glob("commons-compiler-*.jar"))]
