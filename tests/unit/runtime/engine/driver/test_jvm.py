"""The driver's JVM: Spark's properties, the archive of classes, the default master."""

from __future__ import annotations

import errno
import os
import resource
import shlex
import stat
from pathlib import Path

import pytest

from runtime.engine.driver.archive import MAX_ARCHIVES, keep
from runtime.engine.driver.class_path import class_path
from runtime.engine.driver.gateway import is_direct, submit_arguments
from runtime.engine.driver.jvm import environment, java_options, spark_properties, write_properties
from runtime.engine.protocol.settings import EngineSettings

SPARK_ENVIRONMENT = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "HADOOP_CONF_DIR", "YARN_CONF_DIR")


def test_the_operators_properties_override_defaults_but_not_required_ones(tmp_path: Path) -> None:
    conf = {
        "spark.driver.memory": "2g",
        "spark.speculation": "true",
        "spark.driver.extraJavaOptions": "-Dmine=1 '-Dtwo=a b'",
    }
    properties = spark_properties(conf, "local[4]", tmp_path, tmp_path)
    assert properties["spark.driver.memory"] == "2g"
    assert properties["spark.speculation"] == "false"
    assert properties["spark.python.worker.reuse"] == "false", "the process of a slot is its own"
    session = spark_properties(conf, "local[4]", tmp_path, tmp_path, slots=False)
    assert session["spark.speculation"] == "true" and "spark.python.worker.reuse" not in session
    options = java_options(conf, True, tmp_path, ("-XX:SharedArchiveFile=x",))
    assert options[-2:] == ["-Dmine=1", "-Dtwo=a b"]
    assert "-XX:SharedArchiveFile=x" in options


def test_options_of_this_machine_are_not_sent_to_a_cluster(tmp_path: Path) -> None:
    properties = spark_properties({}, "spark://master:7077", tmp_path, tmp_path)
    assert properties["spark.master"] == "spark://master:7077"
    assert not {"spark.driver.bindAddress", "spark.local.dir", "spark.python.daemon.module"} & properties.keys()
    assert len(java_options({}, False, tmp_path, ())) == 2, "the log configuration, and that of Arrow"
    assert not is_direct({}, local=False)


@pytest.mark.parametrize("master", ["k8s://https://api:6443", "yarn"])
def test_a_resource_manager_gets_the_operators_properties_and_no_secret_of_the_worker(
    master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image or archive with the executors' Python; each slot's token is data of its job."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    conf = {
        "spark.driver.host": "connect.default.svc",
        "spark.kubernetes.container.image": "registry/headrace:1",
        "spark.archives": "headrace.tar.gz#environment",
        "spark.pyspark.python": "./environment/bin/python",
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
    }
    properties = spark_properties(conf, master, tmp_path, tmp_path)
    assert properties == {**properties, **conf, "spark.master": master, "spark.task.maxFailures": "1"}
    assert properties["spark.decommission.enabled"] == "true"
    assert environment(conf, local=False)["PYSPARK_PYTHON"] == "./environment/bin/python"
    names = " ".join((*properties, *environment(conf, local=False))).lower()
    assert "headrace" not in names and "token" not in names


def test_a_pod_of_an_executor_is_the_only_object_that_a_worker_needs_on_kubernetes(tmp_path: Path) -> None:
    on_kubernetes = spark_properties({}, "k8s://https://api:6443", tmp_path, tmp_path)
    assert on_kubernetes["spark.kubernetes.executor.disableConfigMap"] == "true"
    own = {"spark.kubernetes.executor.disableConfigMap": "false"}
    assert spark_properties(own, "k8s://https://api:6443", tmp_path, tmp_path).items() >= own.items()
    assert not [key for key in spark_properties({}, "yarn", tmp_path, tmp_path) if key.startswith("spark.kubernetes.")]


@pytest.mark.parametrize(("master", "seconds"), [("local[2]", 90), ("yarn", 900), ("k8s://https://api:6443", 900)])
def test_a_cluster_may_take_its_time_to_accept_the_driver(master: str, seconds: float) -> None:
    assert EngineSettings(spark_conf={"spark.master": master}).start_timeout == seconds


@pytest.mark.parametrize("key", ["spark.jars.packages", "spark.driver.extraClassPath", "spark.submit.pyFiles"])
def test_settings_that_spark_submit_interprets_are_left_to_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SPARK_ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    assert is_direct({"spark.jars": "a.jar, file:///b.jar", "spark.driver.memory": "1g"}, local=True)
    assert not is_direct({key: "x"}, local=True)


@pytest.mark.parametrize("name", SPARK_ENVIRONMENT)
def test_settings_of_an_installation_are_left_to_spark_submit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in SPARK_ENVIRONMENT:
        monkeypatch.delenv(other, raising=False)
    assert is_direct({}, local=True)
    monkeypatch.setenv(name, "conf")
    assert not is_direct({}, local=True)


@pytest.mark.parametrize("jar", ["s3a://jars/x.jar", "https://host/x.jar", "file:/x.jar", "/jars/*.jar"])
def test_jars_that_have_to_be_found_are_left_to_spark_submit(jar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SPARK_ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    assert not is_direct({"spark.jars": f"/a.jar,{jar}"}, local=True)


def test_the_class_path_leaves_out_jars_that_a_local_driver_does_not_need(tmp_path: Path) -> None:
    jar = tmp_path / "own.jar"
    usual = [path.name for path in class_path({"spark.jars": str(jar)})]
    assert usual[-1] == jar.name
    for part in ("spark-core_", "spark-sql_", "spark-catalyst_", "hive-storage-api-", "hadoop-client-runtime-"):
        assert any(name.startswith(part) for name in usual)
    assert not any(name.startswith(("kubernetes-", "spark-mllib_", "hive-exec-")) for name in usual)
    everything = [path.name for path in class_path({"spark.sql.catalogImplementation": "hive"})]
    assert set(usual[:-1]) < set(everything)
    assert any(name.startswith("hive-exec-") for name in everything)


def test_properties_may_contain_secrets_and_special_characters(tmp_path: Path) -> None:
    path = write_properties(tmp_path, {"spark.key": " a=b:c\\d\ne ü 🎉"})
    assert path.read_text() == "spark.key=\\ a\\=b\\:c\\\\d\\ne\\ \\u00fc\\ \\ud83c\\udf89\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_default_master_has_two_cores_more_than_slots() -> None:
    assert EngineSettings(slots=3).master == "local[37]"
    assert EngineSettings(slots=3).max_extra_slots == 32


@pytest.mark.parametrize(("master", "extras"), [("local[9]", 4), ("local[4]", 0), ("spark://host:7077", 32)])
def test_a_configured_master_limits_the_extra_slots_to_its_cores(master: str, extras: int) -> None:
    settings = EngineSettings(slots=3, spark_conf={"spark.master": master})
    assert (settings.master, settings.max_extra_slots) == (master, extras)


@pytest.mark.parametrize("present", [0, MAX_ARCHIVES, MAX_ARCHIVES + 2])
def test_few_archives_are_kept(tmp_path: Path, present: int) -> None:
    folder = tmp_path / "cds"
    folder.mkdir()
    for number in range(present):
        (folder / f"spark-old-{number}.jsa").write_text("old")
    (tmp_path / "recorded").write_text("new")
    (folder / "broker-1.jsa").write_text("of a local broker")
    keep(tmp_path / "recorded", folder / "spark-new.jsa")
    assert (folder / "spark-new.jsa").read_text() == "new" and (folder / "broker-1.jsa").exists()
    assert len(list(folder.glob("spark-*"))) == min(present + 1, MAX_ARCHIVES)


def test_an_archive_that_cannot_be_copied_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk: an archive has 70 MB."""
    recorded, folder = tmp_path / "recorded", tmp_path / "cds"
    recorded.write_bytes(b"new" * 1000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def on_another_file_system(*_: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "rename", on_another_file_system)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            keep(recorded, folder / "spark-new.jsa")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(folder.iterdir())


def test_the_temporary_folder_may_have_blanks_in_its_name(tmp_path: Path) -> None:
    file = tmp_path / "a b" / "spark.properties"
    assert shlex.split(submit_arguments(file))[:2] == ["--properties-file", str(file)]
