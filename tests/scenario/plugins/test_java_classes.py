"""Java classes of `plugin.path` as classes of the plugin API, in a task host JVM."""

from __future__ import annotations

import pytest

from runtime.api.connector import SinkConnector, SourceConnector
from runtime.definitions.findings import Findings
from runtime.definitions.plugin_code import creation_problem
from runtime.java.plugins.classes import JavaClasses
from runtime.java.plugins.source_task import ReportingJavaSourceTask
from runtime.java.target import JavaTarget
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.plugin import Plugin, PluginType
from runtime.plugins.registry import PluginRegistry
from tests.support.java.host import probes, shared_host

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def classes() -> JavaClasses:
    return JavaClasses(shared_host())


def test_a_connector_has_its_keys_and_the_class_of_its_tasks(classes: JavaClasses) -> None:
    found = classes.load(_target("ProbeConnector"), "source")
    assert issubclass(found, SourceConnector)
    assert classes.load(_target("ProbeConnector"), "source") is found
    assert [key.name for key in found.config_def] == ["probe.size"]
    assert found.task_class.__dict__["java_name"] == "probe.ProbeSource"
    connector = found()
    assert connector.version() == "9"
    assert connector.config_def is found.config_def
    assert [(v.name, v.value, v.errors) for v in connector.validate({"probe.size": "7"})] == [("probe.size", "7", [])]


def test_validators_and_recommenders_of_a_transformation_run_in_java(classes: JavaClasses) -> None:
    keys = classes.load(_target("ProbeStep"), "transformation").config_def  # type: ignore[attr-defined]  # of a generated class
    (found,) = keys.validate({"step.size": "7"})
    assert (found.value, found.errors, found.recommended_values, found.visible) == (7, [], ["7", "3"], False)
    (found,) = keys.validate({"step.size": "12"})
    assert found.errors == ["Invalid value 12 for configuration step.size: too large"]


def test_validation_finds_a_class_that_cannot_be_created(classes: JavaClasses) -> None:
    kind = PluginType.TRANSFORMATION
    unlicensed, step = (
        Plugin(f"probe.{n}", _target(n), (kind,), language="java") for n in ("UnlicensedStep", "ProbeStep")
    )
    registry = PluginRegistry((), PluginCatalog((unlicensed, step)), java=classes.load)
    objects = sum(len(jvm.objects) for jvm in classes.host.jvms)
    assert creation_problem(unlicensed, kind, registry, Findings()) == " It cannot be created: no license"
    assert creation_problem(step, kind, registry, Findings()) == ""
    assert sum(len(jvm.objects) for jvm in classes.host.jvms) == objects, "the instance is released"


def test_a_task_that_uses_reports_gets_them(classes: JavaClasses) -> None:
    task = classes.load(_target("ProbeSource"), "source_task")()
    assert isinstance(task, ReportingJavaSourceTask)
    assert task.version() == "8"
    task.interrupt()
    quiet = classes.load(_target("QuietSource"), "source_task")()
    assert not isinstance(quiet, ReportingJavaSourceTask)
    quiet.interrupt()


def test_a_class_that_does_not_exist_is_named(classes: JavaClasses) -> None:
    missing = classes.load(_target("Missing"), "sink")
    assert issubclass(missing, SinkConnector)
    with pytest.raises(Exception, match=r"probe\.Missing"):
        missing()


def _target(name: str) -> str:
    return str(JavaTarget(f"probe.{name}", str(probes())))
