"""A jar with the classes of Cases.java and Own.java."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

from runtime.embedded.broker import broker
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from tests.support.java.connect_jars import connect_jars

_SOURCES = Path(__file__).parent
MANIFEST_VERSION = "9.9"


def edge_case_jar(folder: Path) -> Path:
    """The jar, in this folder."""
    classes = folder / "classes"
    _compile(classes, _SOURCES / "Cases.java", _SOURCES / "Gone.java", _SOURCES / "Own.java")
    (classes / "edge" / "Gone.class").unlink()
    target = folder / "edge-cases.jar"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nImplementation-Version: {MANIFEST_VERSION}\n\n")
        jar.writestr("META-INF/services/org.apache.kafka.common.config.provider.ConfigProvider", _DECLARED)
        for file in sorted(classes.rglob("*.class")):
            jar.write(file, file.relative_to(classes))
    return target


_DECLARED = "# our provider\n\nedge.Cases$Declared # has a comment\n"


def _compile(target: Path, *sources: Path) -> None:
    java = find_java()
    folders = (
        jars.fetch("broker", broker.BROKER, java),
        connect_jars(),
    )
    class_path = [str(jar) for folder in folders for jar in sorted(folder.glob("*.jar"))]
    subprocess.run(
        [
            *(str(java.program), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-cp", os.pathsep.join(map(str, jars.janino_jars())), "org.codehaus.janino.SimpleCompiler"),
            *(str(_SOURCES / "Compile.java"), "Compile", str(target), os.pathsep.join(class_path), *map(str, sources)),
        ],
        check=True,
    )
