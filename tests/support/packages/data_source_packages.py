"""The packages with Python data sources that docs/connectors/data-source.md lists as tested."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from runtime.system.cache import cache_folder
from runtime.system.locks import exclusive

_PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "data-source.md"
_LISTED = re.compile(r"^\| `([\w-]+==[\w.]+)` \|", re.MULTILINE)
_DEPENDENCIES = ("faker==23.3.0", "tenacity==9.2.1", "requests==2.34.2", "charset_normalizer==3.5.3")


def listed_packages() -> list[str]:
    """The packages with their versions, as the page names them."""
    return _LISTED.findall(_PAGE.read_text(encoding="utf-8"))


def data_source_packages() -> Path:
    """A folder for sys.path with the listed packages and those of their dependencies that tests lack, installed once
    into the cache. Others, such as PySpark and pyarrow, are those of the tests."""
    wanted = [*listed_packages(), *_DEPENDENCIES]
    folder = cache_folder() / f"data-sources-{hashlib.sha256(' '.join(wanted).encode()).hexdigest()[:12]}"
    with exclusive(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
            subprocess.run([*command, *wanted], check=True, env={**os.environ, "PYTHONPATH": ""})
            (folder / "complete").touch()
    return folder
