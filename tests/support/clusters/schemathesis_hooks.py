"""Puts usable connector configs into schemathesis' requests. SCHEMATHESIS_HOOKS names this module."""

from __future__ import annotations

import os
from typing import Any

import schemathesis

FOLDER = "HEADRACE_TEST_FOLDER"
"""Environment variable with the folder of the connectors' files."""


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Adds the keys that a file source needs to two of three generated configs."""
    made_up = body.get("config") if context.operation.path == "/connectors" and isinstance(body, dict) else body
    wanted = context.operation.path in ("/connectors", "/connectors/{name}/config")
    if wanted and isinstance(made_up, dict) and len(str(made_up)) % 3:
        made_up.pop("name", None)
        made_up.update({"connector.class": "FileStreamSource", "topic": "made-up", "file": f"{os.environ[FOLDER]}/in"})
    return body
