"""The output of `headrace doctor`: installed parts, missing parts and remedies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.doctor import machine
from runtime.doctor.check_result import CheckSeverity
from runtime.embedded.processes import ports
from tests.support.control_groups import Files


def run(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-m", "runtime", "doctor"]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=60, check=False)


def test_this_machine_has_everything() -> None:
    done = run()
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[1] for line in lines[:5]] == ["Python", "console", "runtime", "Java", "Spark"]
    assert all(line.startswith("ok ") for line in lines[:5])
    assert "scripts" not in done.stdout
    assert lines[-1].startswith("note  terminal   standard output is not a terminal: ")


def test_without_java_the_remedy_is_printed(tmp_path: Path) -> None:
    done = run(JAVA_HOME=str(tmp_path))
    (line,) = (line for line in done.stdout.splitlines() if " Java " in line)
    assert done.returncode == 1
    assert line.startswith(f"BAD   Java       JAVA_HOME is {tmp_path}, but ")
    assert "install Java 17" in line


def test_too_few_open_files_for_spark() -> None:
    doctor = ["prlimit", "--nofile=200:200", sys.executable, "-m", "runtime", "doctor"]
    done = subprocess.run(doctor, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "BAD   files      at most 200 open files: Spark needs 320: raise the hard limit to 1024" in done.stdout


def test_a_temporary_folder_where_libraries_of_java_do_not_run(tmp_path: Path) -> None:
    assert machine._temporary(tmp_path).severity is CheckSeverity.OK
    program = "import sys; from pathlib import Path; from runtime.doctor import machine\n"
    program += "print(machine._temporary(Path(sys.argv[1])))"
    mount = 'mount -t tmpfs -o noexec none "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "-", str(tmp_path), sys.executable]
    done = subprocess.run([*command, program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(f"note  folder     {tmp_path} (TMPDIR) is mounted with noexec: ")


def test_without_the_address_of_the_loopback_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "HOST", "192.0.2.1")  # of no machine (RFC 5737)
    result = str(machine._port(8083, "REST", "another"))
    assert result.startswith("BAD   port       192.0.2.1: Cannot assign requested address: Spark needs it: ")


def test_the_limits_of_the_control_group(tmp_path: Path) -> None:
    files = Files(tmp_path)
    group = files.version_2(cpu__max="50000 100000", memory__max=str(400 << 20))
    assert str(machine._cores(group)) == f"ok    cores      1 of {os.cpu_count()} may be used, by a quota of 0.5"
    assert str(machine._memory(group)).startswith("note  memory     limited to 400 MB by the control group: ")


def test_without_the_extra_runtime_the_console_is_healthy() -> None:
    found = list(machine.check_machine(_without(*machine.RUNTIME)))
    assert [f.severity for f in found] == [CheckSeverity.OK, CheckSeverity.OK, CheckSeverity.NOTE]
    assert "pip install 'headrace[runtime]'" in str(found[-1])


def test_a_part_of_the_extra_is_not_enough() -> None:
    found = [f for f in machine.check_machine(_without("uvicorn")) if f.subject == "runtime"]
    assert [str(f) for f in found] == ["BAD   runtime    missing: uvicorn: pip install 'headrace[runtime]'"]


def _without(*packages: str) -> machine.Version:
    return lambda package: None if package in packages else machine.installed_version(package)


def test_a_folder_must_be_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert machine._folder(tmp_path / "new" / "deeper").severity is CheckSeverity.OK
    assert machine._folder(tmp_path / "file" / "x").severity is not CheckSeverity.OK


def test_another_pyspark_in_pythonpath_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    done = run(PYTHONPATH=str(tmp_path))
    (line,) = [line for line in done.stdout.splitlines() if "Spark " in line]
    assert line.startswith(f"BAD   Spark      PySpark in {tmp_path}/pyspark has no jars: ")
    assert "PYTHONPATH" in line
