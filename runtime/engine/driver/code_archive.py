"""The archive of the worker's own code for executors, named after its content: each version is another archive."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import runtime

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of all files, so that equal content gives equal archives


def write_code_archive(folder: Path) -> Path:
    """A zip file with the package `runtime`, in `folder`."""
    root = Path(str(runtime.__file__)).parent
    files = sorted(file for file in root.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    digest = hashlib.sha256()
    draft = folder / "code.zip"
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as content:
        for file in files:
            name, data = file.relative_to(root.parent).as_posix(), file.read_bytes()
            digest.update(f"{name} {len(data)}\n".encode() + data)
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            content.writestr(info, data)
    return draft.rename(folder / f"headrace-{digest.hexdigest()[:16]}.zip")
