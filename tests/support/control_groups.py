"""Files of control groups, as the kernel shows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runtime.system.cgroup import Cgroup


class Files:
    """The folder of a process in /proc, and control groups below a folder with a space in its name."""

    def __init__(self, folder: Path) -> None:
        self.process, self.groups = folder / "proc", folder / "control groups"
        self.process.mkdir()
        (self.process / "mountinfo").write_text("25 1 0:23 / /proc rw - proc proc rw\n")

    def member(self, *lines: str) -> None:
        (self.process / "cgroup").write_text("".join(f"{line}\n" for line in lines))

    def mount(self, name: str, kind: str, options: str, root: str = "/") -> Path:
        """A mounted hierarchy."""
        folder = self.groups / name
        folder.mkdir(parents=True)
        with (self.process / "mountinfo").open("a") as mounts:
            place = str(folder).replace(" ", "\\040")
            mounts.write(f"31 23 0:28 {root} {place} rw,nosuid master:9 - {kind} {kind} {options}\n")
        return folder

    def version_2(self, path: str = "/", **files: str) -> Cgroup:
        """A process in this group, whose files have these contents."""
        write(self.mount("unified", "cgroup2", "rw,nsdelegate") / path.lstrip("/"), files)
        self.member(f"0::{path}")
        return Cgroup(self.process)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Contents by names with `__` for the dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")
