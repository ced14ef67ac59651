"""The listing of plugins: from sources alone, in folders of plugin.path, in environments, and by entry points."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.plugins.plugin import Plugin
from runtime.plugins.plugin_path import scan
from runtime.plugins.registry import PluginRegistry, entries
from tests.support.packages.wheels import build_wheel

CONNECTOR = """
from runtime.api import SourceConnector
class {name}(SourceConnector):
    def version(self): return "7.1"
    def start(self, config): pass
    def task_configs(self, max_tasks): return []
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "plugins"
    found.mkdir()
    return found


def listed(folder: Path, cache: Path) -> list[tuple[str, str, list[str]]]:
    return [(p.cls, p.version, [str(kind) for kind in p.kinds]) for p in scan([str(folder)], cache).plugins]


def only(folder: Path, cache: Path) -> Plugin:
    (plugin,) = scan([str(folder)], cache).plugins
    return plugin


def test_names_of_files_need_not_be_text(folder: Path, cache: Path) -> None:
    """As those that a system with another encoding has written."""
    (folder / "hr_package").mkdir()
    (folder / "hr_package" / "__init__.py").write_text(CONNECTOR.format(name="BillsSource"))
    for name in (b"hr_package/caf\xe9.txt", b"caf\xe9.py"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).touch()
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9")).mkdir()
    assert listed(folder, cache) == [("hr_package.BillsSource", "7.1", ["source"])]


def test_python_plugins_of_a_folder(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "hr_single.py").write_text(CONNECTOR.format(name="OrdersSource"))
    package = folder / "hr_package"
    package.mkdir()
    (package / "__init__.py").write_text("from hr_package.inner import BillsSource\n")
    (package / "inner.py").write_text(CONNECTOR.format(name="BillsSource"))
    (folder / "hr_broken.py").write_text("class Half(")
    (folder / "json.py").write_text("1 / 0")
    registry = PluginRegistry([str(folder)])
    assert [e for e in registry.entries(True) if e["type"] == "source" and "hr_" in e["class"]] == [
        {"class": "hr_package.inner.BillsSource", "type": "source", "version": "7.1"},
        {"class": "hr_single.OrdersSource", "type": "source", "version": "7.1"},
    ]
    plugin = registry.find("OrdersSource")
    assert plugin is not None and registry.load_class(plugin).__name__ == "OrdersSource"
    errors = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert [name for name in ("hr_broken", "json") if any(f": {name} in " in e for e in errors)] == [
        "hr_broken",
        "json",
    ]


def test_modules_that_crash_exit_or_hang_when_they_are_imported_are_listed(folder: Path) -> None:
    misbehaviour = {"exits": "raise SystemExit(3)", "hangs": "while True: pass", "kills": "import os; os.abort()"}
    for name, line in misbehaviour.items():
        (folder / f"hr_{name}.py").write_text(f"{line}\n{CONNECTOR.format(name=name.title())}")
    code = f"""
import json, sys
from runtime.plugins.registry import PluginRegistry
found = [e["class"] for e in PluginRegistry([{str(folder)!r}]).entries(True)]
print(json.dumps([found, [name for name in sys.modules if name.startswith("hr_")]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    found, imported = json.loads(done.stdout)
    assert [cls for cls in found if cls.startswith("hr_")] == ["hr_exits.Exits", "hr_hangs.Hangs", "hr_kills.Kills"]
    assert imported == []


SOURCES = {
    "base classes in other modules": (
        {
            "hr_p/__init__.py": "from .sinks import *\nfrom ._version import __version__",
            "hr_p/_version.py": "__version__ = '2.5'",
            "hr_p/base.py": "import runtime.api as api\nclass Base(api.SinkConnector):\n  def start(self, c): ...",
            "hr_p/sinks.py": "from . import base\nBase = base.Base\n"
            "class Orders(Base):\n  def task_configs(self, n): return []",
        },
        [("hr_p.sinks.Orders", "2.5", ["sink"])],
    ),
    "abstract, private and imported classes": (
        {
            "hr_q.py": "from abc import abstractmethod\nfrom runtime.api import Predicate, Transformation\n"
            "class _Hidden(Predicate):\n  def test(self, record): return True\n"
            "class Half(Transformation):\n  @abstractmethod\n  def more(self): ...\n"
            "  def apply(self, record): return record\n"
            "class Full(Half):\n  def more(self): ...\n"
        },
        [("hr_q.Full", "undefined", ["transformation"])],
    ),
    "several types and a class in a condition": (
        {
            "hr_r.py": "import sys\nfrom runtime.api import Converter, HeaderConverter\n"
            "VERSION = '3'\nif sys.version_info > (3, 0):\n  class Both(Converter, HeaderConverter):\n"
            "    def version(self):\n      'Doc.'\n      return VERSION\n"
            "    def from_connect(self, *a): ...\n    def to_connect(self, *a): ...\n"
            "    def from_connect_header(self, *a): ...\n    def to_connect_header(self, *a): ...\n"
        },
        [("hr_r.Both", "3", ["converter", "header_converter"])],
    ),
}


@pytest.mark.parametrize("case", SOURCES)
def test_types_and_versions_are_read_from_sources(case: str, folder: Path, cache: Path) -> None:
    files, expected = SOURCES[case]
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    assert listed(folder, cache) == expected


def test_a_base_class_without_source_is_reported(folder: Path, cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "hr_odd.py").write_text("from nowhere import Base\nclass Odd(Base):\n  config_def = None\n")
    assert listed(folder, cache) == []
    assert "hr_odd.Odd is not listed as a plugin: the source of its base class Base cannot be found" in caplog.text


def test_a_module_is_read_again_only_after_it_has_changed(folder: Path, cache: Path) -> None:
    module = folder / "hr_changing.py"
    module.write_text(CONNECTOR.format(name="One"))
    first = only(folder, cache)
    assert only(folder, cache) == first
    module.write_text(CONNECTOR.format(name="Another"))
    second = only(folder, cache)
    assert second.cls == "hr_changing.Another" and second.revision != first.revision


def test_a_plugin_with_dependencies_of_its_own(folder: Path, cache: Path) -> None:
    for version in ("1.0", "2.0"):
        home = folder / f"orders-{version}"
        text = CONNECTOR.format(name="Orders").replace('"7.1"', "__version__")
        files = {"hr_orders.py": f"import hr_lib\n__version__ = '{version}'\n{text}"}
        build_wheel(home, "hr_orders", version, files, {"orders": "hr_orders:Orders"})
        build_wheel(home, "hr_lib", version, {"hr_lib.py": CONNECTOR.format(name="Unlisted")})
    catalog = scan([str(folder)], cache)
    assert [(p.cls, p.version) for p in catalog.plugins] == [("hr_orders.Orders", "1.0"), ("hr_orders.Orders", "2.0")]
    first, second = (catalog.environments[p.environment] for p in catalog.plugins)
    assert first.id.startswith("orders-1.0-") and second.id.startswith("orders-2.0-")
    assert (Path(first.folders[0]) / "hr_lib.py").is_file()
    assert scan([str(folder)], cache) == catalog


def test_without_entry_points_all_modules_of_an_environment_are_listed(folder: Path, cache: Path) -> None:
    site = folder / "bills" / "site-packages"
    site.mkdir(parents=True)
    (site / "hr_bills.py").write_text(CONNECTOR.format(name="Bills"))
    plugin = only(folder, cache)
    assert plugin.cls == "hr_bills.Bills" and plugin.environment.startswith("bills-")


def test_an_incomplete_environment_is_reported_and_disturbs_no_other(
    folder: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    build_wheel(folder / "bad", "hr_bad", "1.0", {"hr_bad.py": CONNECTOR.format(name="Bad")})
    (folder / "bad" / "requirements.lock").write_text("hr-bad==1.0\nhr-missing==2.0\n")
    (folder / "hr_good.py").write_text(CONNECTOR.format(name="Good"))
    assert only(folder, cache).cls == "hr_good.Good"
    assert "requirements.lock lists hr-missing, but there is no wheel of that name" in caplog.text


def test_wheels_outside_of_an_environment_are_reported(
    folder: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    build_wheel(folder, "hr_loose", "1.0", {"hr_loose.py": CONNECTOR.format(name="Loose")})
    assert listed(folder, cache) == []
    assert f"move hr_loose-1.0-py3-none-any.whl in {folder} to a subfolder" in caplog.text


@pytest.mark.parametrize("source", [b"x = " + b"(" * 100_000, b"\xff\xfe", b"a = 1\0", b"#" * 5_000_000])
def test_a_hostile_source_is_reported_and_disturbs_no_other(
    source: bytes, folder: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "hr_hostile.py").write_bytes(source)
    (folder / "hr_good.py").write_text(CONNECTOR.format(name="Good"))
    assert only(folder, cache).cls == "hr_good.Good"
    assert f"hr_hostile in {folder} is not listed" in caplog.text


def test_an_entry_point_declares_a_type_that_the_source_does_not_state(
    folder: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = {"hr_dynamic.py": "Made = type('Made', (), {})\nOther = type('Other', (), {})\n"}
    points = {"sink.made": "hr_dynamic:Made", "other": "hr_dynamic:Other"}
    build_wheel(folder / "dynamic", "hr_dynamic", "4.2", files, points)
    assert listed(folder, cache) == [("hr_dynamic.Made", "4.2", ["sink"])]
    assert "to declare its type, name the entry point <type>.other" in caplog.text


def test_installed_distributions_declare_plugins_with_entry_points(tmp_path: Path, cache: Path) -> None:
    build_wheel(tmp_path, "hr_inst", "1.4", {"hr_inst.py": CONNECTOR.format(name="Inst")}, {"i": "hr_inst"})
    site = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "zipfile", "-e", str(tmp_path / "hr_inst-1.4-py3-none-any.whl"), str(site)], check=True
    )
    code = "from runtime.plugins.plugin_path import scan; print([(p.cls, p.version) for p in scan([]).plugins])"
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.append({str(site)!r}); {code}"],
                          capture_output=True, check=True, text=True)  # fmt: skip
    assert done.stdout.strip() == "[('hr_inst.Inst', '7.1')]"


def test_a_jar_that_cannot_be_read_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "debezium").mkdir()
    (tmp_path / "debezium" / "debezium-core.jar").touch()
    assert PluginRegistry([str(tmp_path)]).entries(True) == entries(True)
    (message,) = [r.getMessage() for r in caplog.records]
    assert message.startswith(f"plugin.path: {tmp_path}/debezium/debezium-core.jar cannot be read")


def test_a_missing_folder_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert PluginRegistry([str(tmp_path / "none")]).entries(True) == entries(True)
    assert "is neither a folder nor a jar" in caplog.text
