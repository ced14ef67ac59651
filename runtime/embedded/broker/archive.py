"""The class-data-sharing archive of the broker's JVM: saves half of the CPU time of its start, and 60 MB.

The first broker that ends in good order writes it, which takes it three seconds more, once.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from runtime.embedded.broker.java import Java
from runtime.embedded.paths import cache_folder

# An archive that cannot be used is left aside by the JVM, and nobody needs to read about it.
_QUIET = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")


class ClassArchive:
    """The archive that fits this Java and these jars, whether it is there yet or not."""

    def __init__(self, java: Java, jars: Path) -> None:
        stat = java.program.stat()
        key = (str(java.program.resolve()), java.version, stat.st_size, stat.st_mtime_ns, str(jars))
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        self._file = cache_folder() / "cds" / f"broker-{digest}.jsa"
        self._fresh: Path | None = None

    def use(self) -> list[str]:
        """Options for a JVM that starts from the archive when it is there."""
        return [*_QUIET, f"-XX:SharedArchiveFile={self._file}"] if self._file.exists() else []

    def use_or_record(self) -> list[str]:
        """The same; when it is not there, the JVM is to write one at its end."""
        if self._file.exists():
            return self.use()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._fresh = self._file.with_name(f".{self._file.name}.{os.getpid()}.{id(self)}")
        return [*_QUIET, f"-XX:ArchiveClassesAtExit={self._fresh}"]

    def ended(self, *, well: bool) -> None:
        """The JVM has ended: what it wrote counts if it ended well, for then it is whole."""
        if self._fresh is None:
            return
        if well and self._fresh.exists():
            self._fresh.replace(self._file)
        else:
            self._fresh.unlink(missing_ok=True)
        self._fresh = None
