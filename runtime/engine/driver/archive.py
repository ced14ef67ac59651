"""The class-data-sharing archive of the driver's JVM: halves the time in which Spark starts.

Recording one doubles the time of a start, so the first engine records none: when its slots are up, a second driver
does it in the background at the lowest priority. The JVM leaves an archive aside that does not fit any more, but
crashes on a damaged one: after a failed start the next one goes without, and has it recorded anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from runtime.engine.driver.jvm import LOCAL_JAVA_OPTIONS, find_java

MAX_ARCHIVES = 3  # of 70 MB each: one for each installation of Spark that is used at the same time
QUIET = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")


def archive_path() -> Path | None:
    """Where the archive for this Java and this Spark is, or is going to be. None without Java."""
    java = find_java()
    if java is None:
        return None
    import pyspark

    java_stat = java.stat()
    spark = Path(pyspark.__file__).resolve().parent
    key = (str(java), java_stat.st_size, java_stat.st_mtime_ns, pyspark.__version__, str(spark), LOCAL_JAVA_OPTIONS)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    return cache / "headrace" / "cds" / f"spark-{pyspark.__version__}-{digest}.jsa"


def use_options(path: Path | None) -> tuple[str, ...]:
    """Options for a JVM that starts from the archive, when there is one."""
    return (*QUIET, f"-XX:SharedArchiveFile={path}") if path and path.exists() else ()


def record_options(path: Path) -> tuple[str, ...]:
    """Options for a JVM that writes the archive at its end."""
    return (*QUIET, f"-XX:ArchiveClassesAtExit={path}")


def keep(recorded: Path, target: Path) -> None:
    """Put a new archive in its place, whole or not at all; the oldest ones go."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(f".{os.getpid()}")
    shutil.move(recorded, fresh)
    fresh.replace(target)
    newest_first = sorted(target.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest_first[MAX_ARCHIVES:]:
        old.unlink(missing_ok=True)
