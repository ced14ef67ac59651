"""The class-data-sharing archive of the driver's JVM, which halves Spark's start time.

Recording an archive doubles the start time, so the first start does not record it: when its slots are up, a second
driver records it in the background at the lowest priority. The JVM ignores an archive that no longer matches, but
crashes on a damaged one: after a failed start the next driver starts without the archive and has it recorded again.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from runtime.engine.driver.class_path import spark_jars
from runtime.engine.driver.jvm import SLOTS_JAVA_OPTIONS, find_java
from runtime.system.cache import cache_folder
from runtime.system.process_folder import work_folder

MAX_ARCHIVES = 3  # archives of 70 MB each: one per installation of Spark in use
QUIET = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr")


def archive_path() -> Path | None:
    """The path of the archive for the installed Java and Spark, even if it does not exist; None without Java."""
    java = find_java()
    if java is None:
        return None
    java_stat = java.stat()
    key = (str(java), java_stat.st_size, java_stat.st_mtime_ns, spark_jars(), SLOTS_JAVA_OPTIONS)
    digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    return cache_folder() / "cds" / f"spark-{digest}.jsa"


def use_options(path: Path | None) -> tuple[str, ...]:
    """JVM options to start from the archive, if it exists."""
    return (*QUIET, f"-XX:SharedArchiveFile={path}") if path and path.exists() else ()


def record_options(path: Path) -> tuple[str, ...]:
    """JVM options to write the archive at exit."""
    return (*QUIET, f"-XX:ArchiveClassesAtExit={path}")


def keep(recorded: Path, target: Path) -> None:
    """Move a new archive to its place atomically, and delete the oldest ones of Spark."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(target.parent) as work:  # on a full disk, or if this process is killed, no part remains
        fresh = work / target.name
        shutil.move(recorded, fresh)
        fresh.replace(target)
    newest_first = sorted(target.parent.glob("spark-*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest_first[MAX_ARCHIVES:]:
        old.unlink(missing_ok=True)
