"""What a task host needs on this machine: Java, Kafka's jars and the compiled glue."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime.java.host.archive import with_archive
from runtime.java.host.coordinates import HOST
from runtime.java.host.glue import glue_jar
from runtime.java.host.process import JvmSettings
from runtime.java.jvm import jars
from runtime.java.jvm.java import Java
from runtime.system.cache import cache_folder


def host_settings(java: Java, heap_mb: int = 256, lease: Path | None = None, more: Sequence[str] = ()) -> JvmSettings:
    """The settings of a task host; downloads and compiles what is missing in the cache. `more`: options of the JVM.

    Raises JarsError or GlueError."""
    folder = jars.fetch("java-host", HOST, java)
    kafka = sorted(folder.glob("*.jar"))
    cache = cache_folder()
    settings = JvmSettings(java.program, [glue_jar(java.program, kafka, cache), *kafka], heap_mb, more, lease)
    return with_archive(settings, cache / "java-host")
