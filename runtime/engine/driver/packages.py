"""`spark.packages`: jars for Spark by Maven coordinates, with their dependencies, from the cache of Java plugins."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.engine.driver.class_path import spark_jars

PACKAGES = "spark.packages"
"""Key of the worker's file: coordinates `group:artifact:version`, separated by commas."""

_VERSION = re.compile(r"-\d")


def with_packages(conf: Mapping[str, str]) -> dict[str, str]:
    """Spark's properties with the jars of the packages in `spark.jars`. The jars are downloaded if they are not in the
    cache. Raises InstallError, JavaError and JarsError."""
    rest = {key: value for key, value in conf.items() if key != PACKAGES}
    coordinates = [part.strip() for part in conf.get(PACKAGES, "").split(",") if part.strip()]
    if coordinates:
        jars = [part for part in rest.get("spark.jars", "").split(",") if part.strip()]
        rest["spark.jars"] = ",".join([*jars, *map(str, _resolved(coordinates))])
    return rest


def _resolved(coordinates: Sequence[str]) -> list[Path]:
    from runtime.java.install.coordinate import Coordinate
    from runtime.java.install.resolver import Repositories, resolve

    found: dict[str, Path] = {}
    for coordinate in coordinates:
        for jar in resolve(Coordinate.parse(coordinate), Repositories(), io.StringIO()):
            found.setdefault(jar.name, jar)
    return without_spark(list(found.values()), spark_jars())


def without_spark(jars: Sequence[Path], spark: Sequence[Path]) -> list[Path]:
    """The jars of which the driver's class path has no version."""
    own = {_artifact(jar) for jar in spark}
    return [jar for jar in jars if _artifact(jar) not in own]


def _artifact(jar: Path) -> str:
    return _VERSION.split(jar.name, maxsplit=1)[0]
