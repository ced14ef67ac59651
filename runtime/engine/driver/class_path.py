"""The class path of a local driver: Spark's jars without those of features that a local driver does not have.

The JVM keeps the directory of each jar in its heap: 17 MB for all jars of PySpark, 11 MB without these.
"""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from runtime.config.properties import comma_separated

PACKAGES = "spark.packages"
"""Key of the worker's file: coordinates `group:artifact:version`, separated by commas."""

_VERSION = re.compile(r"-\d")


def with_packages(conf: Mapping[str, str]) -> dict[str, str]:
    """Spark's properties with the jars of the packages in `spark.jars`. The jars are downloaded if they are not in the
    cache. Raises InstallError, JavaError and JarsError."""
    rest = {key: value for key, value in conf.items() if key != PACKAGES}
    coordinates = comma_separated(conf.get(PACKAGES, ""))
    if coordinates:
        jars = [part for part in rest.get("spark.jars", "").split(",") if part.strip()]
        rest["spark.jars"] = ",".join([*jars, *map(str, _resolved(coordinates))])
    return rest


def _resolved(coordinates: Sequence[str]) -> list[Path]:
    from runtime.java.install.coordinate import Coordinate
    from runtime.java.install.resolver import Repositories, resolve

    jars_by_name: dict[str, Path] = {}
    for coordinate in coordinates:
        for jar in resolve(Coordinate.parse(coordinate), Repositories(), io.StringIO()):
            jars_by_name.setdefault(jar.name, jar)
    return without_spark(list(jars_by_name.values()), spark_jars())


def without_spark(jars: Sequence[Path], spark: Sequence[Path]) -> list[Path]:
    """The jars of which the driver's class path has no version."""
    own = {_artifact(jar) for jar in spark}
    return [jar for jar in jars if _artifact(jar) not in own]


def _artifact(jar: Path) -> str:
    return _VERSION.split(jar.name, maxsplit=1)[0]


_UNUSED = re.compile(
    r"kubernetes-|volcano-|vertx-|zjsonpatch|okhttp|okio"  # Kubernetes
    r"|spark-(kubernetes|yarn|connect|hive|hive-thriftserver|mllib|mllib-local|graphx|repl|streaming)_"
    r"|hive-(?!storage-api)|datanucleus-|derby|bonecp|HikariCP|jdo-api|javax\.jdo|libthrift|libfb303"  # Hive
    r"|opencsv|super-csv|ST4|antlr-runtime-|stringtemplate|transaction-api"
    r"|breeze|spire|algebra|cats-kernel|arpack|blas|lapack|JTransforms|JLargeArrays|pmml|istack|jaxb"  # MLlib
    r"|scala-compiler|jline"
    r"|curator-|zookeeper"
)
_HIVE = "spark.sql.catalogImplementation"


def class_path(properties: Mapping[str, str]) -> list[Path]:
    """The jars for Spark's properties. Jars of `spark.jars` follow, so that the archive of classes remains valid."""
    own = [Path(part.strip().removeprefix("file://")) for part in properties.get("spark.jars", "").split(",")]
    return [*spark_jars(properties.get(_HIVE) == "hive"), *(jar for jar in own if jar.name)]


@cache
def spark_jars(all_of_them: bool = False) -> tuple[Path, ...]:
    """The jars that PySpark includes, in a fixed order."""
    jars = sorted(spark_home().glob("jars/*.jar"))
    return tuple(jar for jar in jars if all_of_them or not _UNUSED.match(jar.name))


def spark_home() -> Path:
    """The folder of PySpark, found without importing it."""
    pyspark = importlib.util.find_spec("pyspark")
    assert pyspark is not None and pyspark.origin is not None
    return Path(pyspark.origin).parent
