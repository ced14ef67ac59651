"""Finds Java and checks its version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.java.jvm.errors import JavaError
from runtime.system.processes import folder_of_children

MINIMUM = 17
ADVICE = (
    f"install Java {MINIMUM} or newer (Debian, Ubuntu: apt install openjdk-17-jre-headless; "
    "Fedora, RHEL: dnf install java-17-openjdk-headless; macOS: brew install openjdk@17) or set JAVA_HOME"
)

SHARED_PAGES = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""Options of a JVM that map archives of classes where they were recorded. At a random address, the default of current
Java versions, all of their pages change, so that each JVM has its own copy."""

TRIM_NATIVE_HEAP = "-XX:TrimNativeHeapInterval=10000"
"""The option with which a JVM gives memory back that its compiler and its libraries have freed; in milliseconds. After
the start of many plugins that is a tenth of the JVM's memory."""


def temporary_folder() -> str:
    """The option with which a JVM uses the temporary folder of this process: Java ignores TMPDIR, and /tmp may be
    read-only."""
    return f"-Djava.io.tmpdir={tempfile.gettempdir()}"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that can run the broker."""

    program: Path
    major: int
    version: str

    def trim_options(self) -> Sequence[str]:
        """The option TRIM_NATIVE_HEAP, if this version has it; others would not start with it."""
        since = {17: (17, 0, 9), 21: (21, 0, 1)}.get(self.major, (22,))
        has_it = tuple(map(int, re.findall(r"\d+", self.version.partition("-")[0]))) >= since
        return (TRIM_NATIVE_HEAP,) if has_it and _is_glibc() else ()


def find_java() -> Java:
    """The Java in JAVA_HOME, otherwise in PATH. Raises JavaError if it is missing or too old, with advice."""
    program = _program()
    version = _version(program)
    major = major_version(version)
    if major < MINIMUM:
        raise JavaError(f"Java {version} ({program}) is too old: {ADVICE}")
    return Java(program, major, version)


def _is_glibc() -> bool:
    """JVMs cannot trim the memory of other C libraries."""
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (OSError, ValueError):
        return False


def major_version(version: str) -> int:
    """17 for "17.0.15"; 8 for "1.8.0_412", the format before Java 9."""
    first, _, rest = version.partition(".")
    if first == "1" and rest:
        first = rest.partition(".")[0]
    digits = re.match(r"\d+", first)
    return int(digits.group()) if digits else 0


def _program() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        program = Path(home) / "bin" / "java"
        if not os.access(program, os.X_OK):
            raise JavaError(f"JAVA_HOME is {home}, but {program} is not executable: {ADVICE}")
        return program
    java = shutil.which("java")
    if not java:
        raise JavaError(f"Java was not found: {ADVICE}")
    return Path(java)


def _version(program: Path) -> str:
    try:
        response = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=20, check=True, cwd=folder_of_children()
        )
    except (OSError, subprocess.SubprocessError) as error:
        # The /usr/bin/java of macOS only prints where to get Java; a JVM prints which resource it lacks.
        output = error.stderr or error.stdout if isinstance(error, subprocess.CalledProcessError) else ""
        reason = output.strip().splitlines()[-1] if output.strip() else error
        raise JavaError(f"{program} does not run ({reason}): {ADVICE}") from None
    output = response.stderr + response.stdout
    version = re.search(r'version "([^"]+)"', output)
    if not version:
        raise JavaError(f"{program} -version printed no version: {ADVICE}")
    return version.group(1)
