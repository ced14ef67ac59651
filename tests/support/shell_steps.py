"""The commands of a page of the documentation, run as a reader would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


class ShellSteps:
    """Runs the commands of each step in bash; a failed command ends the step. The folder is kept between steps."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        # Builds take hatchling from this environment instead of an index.
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        homes = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("STATE", "CONFIG")}
        self._environment = {**os.environ, "PATH": programs, **offline, **homes, **environment}

    def run(self, step: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-c", f"{step}\npwd"], cwd=self.folder, env=self._environment, capture_output=True,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"
        lines = done.stdout.splitlines()
        self.folder = Path(lines[-1])
        return "\n".join(lines[:-1])
