"""Wheels and plugin environments that tests build themselves."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path


def build_wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str], plugins: Mapping[str, str] | None = None,
    tag: str = "py3-none-any",
) -> Path:  # fmt: skip
    """A wheel with these modules. `plugins`: entry points of the group headrace.plugins."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    if plugins:
        lines = "".join(f"{key} = {value}\n" for key, value in plugins.items())
        content[f"{info}/entry_points.txt"] = f"[headrace.plugins]\n{lines}"
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"]))
    return wheel
