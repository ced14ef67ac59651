"""`headrace plugin test`: what it finds below a path, its report and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.plugin_kit.cli import main
from runtime.plugin_kit.conformance_command import example_module
from tests.support.tasks.faulty_connectors import LinesConnector, NumbersConnector

MODULE = '''
from runtime.api import ConfigDef, ConfigKey, ConfigType, DataError, Predicate, Transformation

class Upper{n}(Transformation):
    """Needs no configuration."""
    def apply(self, record):
        if not isinstance(record.value, str):
            raise DataError("not text")
        record.value = record.value.upper()
        return record

class Faulty{n}(Transformation):
    def apply(self, record):
        record.value = record.value + 1
        return record

class Configured{n}(Predicate):
    config_def = ConfigDef(ConfigKey("what", ConfigType.STRING, doc="What."))
    def test(self, record):
        return True
'''


def module(folder: Path, name: str) -> Path:
    file = folder / f"{name}.py"
    file.write_text(MODULE.replace("{n}", name.capitalize()))
    return file


def test_faults_are_reported_with_reason_and_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(module(tmp_path, "kitone"))]) == 1
    printed = capsys.readouterr().out
    assert "kitone.UpperKitone\n  ok       documentation" in printed
    assert "FAILED   odd-records" in printed
    assert "apply() raised TypeError for the value None" in printed
    assert "→ Raise DataError for records that cannot be transformed" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_plugin_without_a_case_fails_with_the_case_to_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(module(tmp_path, "kittwo"))]) == 1
    printed = capsys.readouterr().out
    assert f"Add to {tmp_path}/conformance.py".replace(" ", "") in "".join(printed.split())
    assert 'PredicateCase(predicate=ConfiguredKittwo, config={"what": "…"})' in printed


def test_one_module_with_the_cases_of_all_plugins_is_suggested() -> None:
    assert example_module([NumbersConnector, LinesConnector]) == (
        "from runtime.plugin_kit import Case, SinkCase, SourceCase\n"
        "from tests.support.tasks.faulty_connectors import NumbersConnector\n"
        "from tests.support.tasks.faulty_connectors import LinesConnector\n\n"
        "CASES: list[Case] = [\n"
        '    SourceCase(connector=NumbersConnector, config={"topic": "…"}),\n'
        '    SinkCase(connector=LinesConnector, config={"file": "…"}, value=lambda number: …, '
        "written=lambda config: …),\n]"
    )


def test_a_folder_of_modules_with_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module(tmp_path, "kitthree")
    (tmp_path / "conformance.py").write_text(
        "from kitthree import ConfiguredKitthree\n"
        "from runtime.plugin_kit import PredicateCase\n"
        "CASES = [PredicateCase(predicate=ConfiguredKitthree, config={'what': 'x'})]\n"
    )
    assert main(["test", str(tmp_path), "--only", "decides"]) == 0
    assert "decides" in capsys.readouterr().out


def test_the_report_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(module(tmp_path, "kitfour")), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["conforms"] is False
    failed = {c["check"]: c["advice"] for c in report["checks"] if c["result"] == "failed"}
    assert "Raise DataError" in failed["odd-records"]
    assert report["failed"] == len(failed)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("x = 1", "has no plugin"),
        ("from runtime.api import SinkConnector\nclass Base(SinkConnector): ...", "has no plugin"),
        ("import no_such_module", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit"),
    ],
)
def test_unusable_paths(tmp_path: Path, content: str | None, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / f"kit_{abs(hash(content))}.py"
    if content is not None:
        file.write_text(content)
    assert main(["test", str(file)]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("headrace plugin: ")
    assert "Traceback" not in error


def test_unusable_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module(tmp_path, "kitfive")
    (tmp_path / "conformance.py").write_text("CASES = 1")
    assert main(["test", str(tmp_path)]) == 2
    assert "has no list CASES" in capsys.readouterr().err


def test_unknown_checks_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(module(tmp_path, "kitsix")), "--only", "speed"]) == 2
    assert "no check matches speed; the checks are" in capsys.readouterr().err
