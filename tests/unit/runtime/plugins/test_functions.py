"""Functions for headrace.PythonUdf: where they are found, and what is refused without running code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from runtime.api.errors import ConfigError
from runtime.definitions.validation import WorkerDefaults, validate, validate_text
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.load import load_steps
from runtime.plugins.plan import plan
from runtime.plugins.plugin_path import scan
from runtime.plugins.registry import PluginRegistry

CODE = """
from decimal import Decimal
from pathlib import Path
Path(__file__).with_name("imported").touch()
def clean(batch):
    return batch
alias = clean
class Model:
    def __init__(self):
        raise MemoryError
    def __call__(self, batch):
        return batch
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of plugin.path with a module, a package, and an environment with its own dependency."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "plugins"
    site = path / "geo-1.0" / "site-packages"
    for module, code in {
        path / "udf_orders.py": CODE,
        path / "udf_broken.py": "import no_such_library\ndef clean(batch): return batch\n",
        path / "udf_ending.py": "raise SystemExit(3)\ndef clean(batch): return batch\n",
        path / "udf_package" / "__init__.py": "",
        path / "udf_package" / "inner.py": CODE,
        site / "udf_geo.py": "import udf_library\ndef locate(batch): return batch\n",
        site / "udf_library.py": "",
    }.items():
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(code)
    yield path
    for name in [name for name in sys.modules if name.startswith("udf_")]:
        del sys.modules[name]


def registry(folder: Path) -> PluginRegistry:
    return PluginRegistry((str(folder),), scan([str(folder)]))


def errors(folder: Path, function: str, text_only: bool, **more: str) -> list[str]:
    plugins = registry(folder)
    config: dict[str, str | None] = {
        "connector.class": "FileStreamSink", "name": "a", "topics": "t", "file": "f", "transforms": "u",
        "transforms.u.type": "PythonUdf", "transforms.u.function": function, **more,
    }  # fmt: skip
    plugin = plugins.find("FileStreamSink")
    assert plugin is not None
    defaults = WorkerDefaults("JsonConverter", "StringConverter", "SimpleHeaderConverter")
    cls = plugins.load_class(plugin)
    if text_only:
        result = validate_text(config, plugin, cls, plugins, defaults)
    else:
        result = validate(config, plugin, cls(), plugins, defaults)
    values: dict[str, list[str]] = {c["value"]["name"]: c["value"]["errors"] for c in result["configs"]}
    return values["transforms.u.function"]


@pytest.mark.parametrize("text_only", [True, False])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("udf_orders:clean", ""),
        ("udf_orders.alias", ""),
        ("udf_package.inner:clean", ""),
        ("udf_orders:Model", ""),
        ("udf_orders:claen", "The module udf_orders has no function claen. Did you mean udf_orders:clean?"),
        ("udf_order:clean", "There is no module udf_order in plugin.path or its environments"),
        ("udf_package.outer:clean", "There is no module udf_package.outer, though there is udf_package"),
        ("os:system", "There is no module os in plugin.path"),
        ("runtime.main:main", "There is no module runtime.main in plugin.path"),
        ("tests.support.user_functions:same", "There is no module tests.support.user_functions in plugin.path"),
    ],
)
def test_missing_modules_and_functions_are_named(folder: Path, text_only: bool, function: str, message: str) -> None:
    found = errors(folder, function, text_only)
    assert (message in found[0]) if message else found == []
    assert (folder / "imported").exists() is (not text_only and function.startswith("udf_orders") and not message)


def test_what_a_module_does_when_it_is_imported_is_found_by_those_who_may_run_code(folder: Path) -> None:
    assert errors(folder, "udf_broken:clean", True) == errors(folder, "udf_ending:clean", True) == []
    (broken,) = errors(folder, "udf_broken:clean", False)
    assert "udf_broken of function=udf_broken:clean cannot be imported: ModuleNotFoundError" in broken
    (ending,) = errors(folder, "udf_ending:clean", False)
    assert "SystemExit: 3" in ending
    (decimal,) = errors(folder, "udf_orders:Decimal", False)
    assert "Decimal is a class without __call__()" in decimal


def spec_of(folder: Path, function: str) -> TaskSpec:
    converter = ConverterSpec("JsonConverter", {})
    config = {"transforms": "u", "transforms.u.type": "headrace.PythonUdf", "transforms.u.function": function}
    return TaskSpec("a", 0, 1, "sink", "x:Y", config, converter, converter, converter, plugin_path=[str(folder)])


def test_a_task_loads_functions_of_plugin_path_only(folder: Path) -> None:
    (step,) = load_steps(spec_of(folder, "udf_orders:clean"))
    assert getattr(step.transformation, "label", "") == "transforms.u"
    with pytest.raises(ConfigError, match=r"transforms.u.function: There is no module os in plugin.path"):
        load_steps(spec_of(folder, "os:system"))


RUN = """
import sys, orjson
from runtime.model.environment import Environment
from runtime.plugins.activation import enter
from runtime.transforms.python_udf.udf import PythonUdf
enter(Environment(*orjson.loads(sys.argv[1])))
step = PythonUdf()
step.configure({"function": "udf_geo:locate"})
print(sys.modules["udf_library"].__file__)
"""


def test_a_function_runs_in_the_environment_of_its_module(folder: Path) -> None:
    config = {"connector.class": "FileStreamSink", "transforms": "u", "transforms.u.type": "PythonUdf",
              "transforms.u.function": "udf_geo:locate"}  # fmt: skip
    found = plan(config, {}, registry(folder)).environment
    assert found is not None and found.id.startswith("geo-1.0-")
    arguments = orjson.dumps([found.id, list(found.folders), found.archive]).decode()
    done = subprocess.run(
        [sys.executable, "-c", RUN, arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.strip() == str(folder / "geo-1.0" / "site-packages" / "udf_library.py"), done.stderr


def test_modules_of_installed_distributions_need_an_entry_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = folder / "geo-1.0" / "site-packages"
    monkeypatch.syspath_prepend(str(installed))
    empty = folder.parent / "empty"
    empty.mkdir()
    assert "There is no module udf_geo" in errors(empty, "udf_geo:locate", True)[0]
    (declaring := installed / "geo-1.0.dist-info").mkdir()
    (declaring / "METADATA").write_text("Metadata-Version: 2.1\nName: geo\nVersion: 1.0\n")
    (declaring / "entry_points.txt").write_text("[headrace.functions]\ngeo = udf_geo\n")
    assert errors(empty, "udf_geo:locate", True) == []
