"""The jars of spark.packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.engine.driver.class_path import with_packages, without_spark
from runtime.java.install.errors import InstallError


def test_jars_that_spark_has_are_left_out_whatever_their_version() -> None:
    jars = [Path("scala-library-2.13.16.jar"), Path("sqlite-jdbc-3.50.3.0.jar"), Path("spark-tags_2.13-4.0.1.jar")]
    spark = [Path("scala-library-2.13.18.jar"), Path("spark-tags_2.13-4.3.0.jar"), Path("xz-1.10.jar")]
    assert without_spark(jars, spark) == [Path("sqlite-jdbc-3.50.3.0.jar")]


def test_without_packages_the_properties_stay() -> None:
    conf = {"spark.jars": "/a.jar", "spark.driver.memory": "1g"}
    assert with_packages(conf) == conf
    assert with_packages({**conf, "spark.packages": " "}) == conf


def test_a_wrong_coordinate_is_refused() -> None:
    with pytest.raises(InstallError, match="sqlite"):
        with_packages({"spark.packages": "sqlite"})
