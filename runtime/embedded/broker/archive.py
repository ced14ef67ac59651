"""ClassArchive: the class-data-sharing archive of the broker's JVM, which saves half of its startup CPU time and 60 MB.

The first broker that ends normally writes the archive, which takes three seconds.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from runtime.java.jvm.java import Java
from runtime.system.cache import cache_folder

# The JVM ignores an archive that it cannot use; its warning would only confuse.
_QUIET = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")


class ClassArchive:
    """The archive for this Java and these jars, which may not exist yet."""

    def __init__(self, java: Java, jars: Path) -> None:
        stat = java.program.stat()
        key = (str(java.program.resolve()), java.version, stat.st_size, stat.st_mtime_ns, str(jars))
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        self._file = cache_folder() / "cds" / f"broker-{digest}.jsa"
        self._fresh: Path | None = None

    def use(self) -> list[str]:
        """JVM options that use the archive if it exists."""
        return [*_QUIET, f"-XX:SharedArchiveFile={self._file}"] if self._file.exists() else []

    def use_or_record(self) -> list[str]:
        """JVM options that use the archive, or write it at the end of the JVM if it does not exist."""
        if self._file.exists():
            return self.use()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._fresh = self._file.with_name(f".{self._file.name}.{os.getpid()}.{id(self)}")
        return [*_QUIET, f"-XX:ArchiveClassesAtExit={self._fresh}"]

    def ended(self, *, well: bool) -> None:
        """Keeps the archive if the JVM ended normally; otherwise the archive is incomplete and is removed."""
        if self._fresh is None:
            return
        if well and self._fresh.exists():
            self._fresh.replace(self._file)
        else:
            self._fresh.unlink(missing_ok=True)
        self._fresh = None
