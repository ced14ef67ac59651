"""Headrace installed from its wheel, in its own environment outside the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import tests

REPOSITORY = Path(tests.__path__[0]).parent


def build(folder: Path) -> Path:
    """Builds the wheel without the network."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([*command, "--no-build-isolation", "-w", str(folder), str(REPOSITORY)], check=True)
    (wheel,) = folder.glob("headrace-*.whl")
    return wheel


class Installed:
    """An environment with the wheel. Its dependencies are linked from the environment that runs the tests."""

    def __init__(self, folder: Path, wheel: Path, *, runtime: bool) -> None:
        self.folder = folder
        venv.create(folder / "venv", symlinks=True)
        self.python = folder / "venv" / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        lent = Path(sysconfig.get_path("purelib")) if runtime else _link_base(folder / "lent")
        (packages / "lent.pth").write_text(f"{lent}\n")

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Runs `headrace …` to its end, outside the repository."""
        return self._run([str(self.python.parent / "headrace"), *words], env)

    def execute(self, program: str) -> subprocess.CompletedProcess[str]:
        """Runs a Python program."""
        return self._run([str(self.python), "-c", program], {})

    def _run(self, command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        return subprocess.run(
            command, cwd=self.folder, env={**inherited, **env}, capture_output=True, text=True, timeout=200, check=False
        )


def _link_base(folder: Path) -> Path:
    """A folder with the base dependencies and nothing else."""
    folder.mkdir()
    for needed in _base({}, distribution("headrace")).values():
        for top in {file.parts[0] for file in needed.files or () if file.parts[0] not in ("..", "__pycache__")}:
            (folder / top).symlink_to(Path(str(needed.locate_file(top))))
    return folder


def _base(found: dict[str, Distribution], of: Distribution) -> dict[str, Distribution]:
    for name in _required(of):
        if name not in found:
            found[name] = distribution(name)
            _base(found, found[name])
    return found


def _required(of: Distribution) -> Iterator[str]:
    """The names of its dependencies without any extra, on this platform."""
    from packaging.requirements import Requirement

    for line in of.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield re.sub(r"[-_.]+", "-", requirement.name).lower()
