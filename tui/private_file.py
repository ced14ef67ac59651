"""Files with records, configs or passwords, which only the user may read."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Writes the file with mode 0600 whatever the umask; an existing file of the user loses wider rights first.

    Raises OSError.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.truncate()
        file.write(text)
