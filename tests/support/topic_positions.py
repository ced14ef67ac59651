"""The grammar of positions in topics as a table of cases for both the console and the worker.

The two halves never import each other and so parse positions with code of their own; `topic_positions.json` maps each
text to its canonical text, or lists it as an error.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

_TABLE = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))

NOW = datetime.fromisoformat(_TABLE["now"])
POSITIONS: list[tuple[str, str]] = list(_TABLE["positions"].items())
ERRORS: list[str] = _TABLE["errors"]
