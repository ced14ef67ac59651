"""The exports of `runtime.api`, and the example in docs/plugins.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import runtime.api
from runtime.api import SourceConnector, SourceRecord, SourceTask, Transformation
from runtime.plugins.registry import PluginRegistry
from tests.support.tasks.task_contexts import TaskSourceContext

PAGE = Path(runtime.api.__path__[0]).parents[1] / "docs" / "plugins.md"
INTERNAL = ("java_compat", "literals", "java_text", "class_names")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The module from the documentation, in a separate folder."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    module = tmp_path / "headrace_counter.py"
    module.write_text(code)
    return module


@pytest.fixture
def async_example(tmp_path: Path) -> Path:
    """The module with an async task from the documentation."""
    (code,) = re.findall(r"```py\n(\"\"\"A source that waits.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    module = tmp_path / "headrace_messages.py"
    module.write_text(code)
    return module


def test_every_exported_name_resolves() -> None:
    assert len(runtime.api.__all__) == len(set(runtime.api.__all__)) == len(runtime.api._MODULES)
    assert dir(runtime.api) == sorted(runtime.api.__all__)
    for name in runtime.api.__all__:
        assert getattr(runtime.api, name) is not None
        assert not runtime.api._MODULES[name].rpartition(".")[2].startswith(INTERNAL)


def test_other_names_are_not_exported() -> None:
    with pytest.raises(AttributeError, match=r"module 'runtime\.api' has no attribute 'JavaMap'"):
        runtime.api.JavaMap  # type: ignore[attr-defined]  # noqa: B018 - type checkers refuse the name too


def test_every_exported_class_and_method_has_a_docstring() -> None:
    missing = []
    for name in runtime.api.__all__:
        found = getattr(runtime.api, name)
        if not isinstance(found, type):
            continue
        members = [member for key, member in vars(found).items() if not key.startswith("_")]
        methods = [member for member in members if callable(member) or isinstance(member, property | classmethod)]
        missing += [f"{name}.{m}" for m in [found, *methods] if not m.__doc__]
    assert not missing


def test_the_page_has_every_member_of_connectors_tasks_and_their_contexts() -> None:
    text = PAGE.read_text("utf-8")
    classes = [getattr(runtime.api, name) for name in runtime.api.__all__]
    bases = [
        kind for kind in classes if isinstance(kind, type) and re.search("(Connector|Task|Context)$", kind.__name__)
    ]
    members = {member for kind in bases for member in vars(kind) if not member.startswith("_")}
    assert len(members) > 30 and [member for member in sorted(members) if member not in text] == []


def test_importing_one_module_imports_no_other() -> None:
    code = "import sys, runtime.api.errors; print([m for m in sys.modules if m.startswith('runtime.api')])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert printed.strip() == "['runtime.api', 'runtime.api.errors']"


def test_the_example_runs(example: Path) -> None:
    registry = PluginRegistry([str(example.parent)])
    plugin, transformation = registry.find("Counter"), registry.find("headrace_counter.AddHost")
    assert plugin is not None and transformation is not None
    connector = registry.load_class(plugin)()
    assert isinstance(connector, SourceConnector)
    connector.start({"topic": "numbers", "limit": "2"})
    task = connector.task_class()
    assert isinstance(task, SourceTask)
    task.context = TaskSourceContext()
    task.start(connector.task_configs(1)[0])
    records = list(task.poll() or ())
    assert [record.source_offset for record in records] == [{"n": 1}, {"n": 2}]
    assert not task.poll()
    step = registry.load_class(transformation)()
    assert isinstance(step, Transformation)
    step.configure({"host": "here"})
    changed = step.apply(records[0])
    assert isinstance(changed, SourceRecord) and changed.value == {"n": 0, "host": "here"}
    assert connector.alter_offsets({}, [({"counter": "numbers"}, {"n": 1})])


def test_the_examples_pass_strict_type_checks(example: Path, async_example: Path, tmp_path: Path) -> None:
    """Runs outside the repository, so that `py.typed` is used."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    done = subprocess.run(
        [*command, str(example), str(async_example)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
