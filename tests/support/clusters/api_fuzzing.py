"""Schemathesis against a worker: generated requests for every operation of its /openapi.json."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.clusters import schemathesis_hooks

STATELESS_CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "response_headers_conformance",
)  # fmt: skip
"""Checks that hold even if other clients change connectors meanwhile."""

CHECKS = (*STATELESS_CHECKS, "negative_data_rejection", "use_after_free", "ensure_resource_availability")

_OPERATIONS = r"""
[[operations]]
include-path-regex = '^/connectors/\{name\}/(offsets|topics|config/history)'
checks.use_after_free.enabled = false
"""
"""DELETE of offsets is a reset: offsets can be read afterwards. Histories are kept after the connector's deletion.
Topics are answered for any name, as by Apache's worker. All checks are enabled in the file, since checks named on the
command line would apply to all operations."""


def run_schemathesis(
    url: str, folder: Path, seconds: int, seed: str, checks: Sequence[str] = CHECKS, description: str = "",
    header: str = "",
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Generates requests for at most `seconds`; `folder` has the files of connectors. `description`: a file with the
    worker's /openapi.json; `header` is added to each request. Returns the exit code, 0 if no check has failed."""
    settings = ["[checks]", "enabled = false", *(f"{check}.enabled = true" for check in checks)]
    (folder / "schemathesis.toml").write_text("\n".join(settings) + (_OPERATIONS if checks == CHECKS else "\n"))
    command = [
        sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()",
        "run", description or f"{url}/openapi.json", "--url", url, *(["-H", header] if header else []),
        "--max-time", str(seconds), "--seed", seed,
        "--exclude-path", "/events", "--continue-on-failure", "--warnings", "off", "--no-color",
    ]  # fmt: skip
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path.cwd()),
        "SCHEMATHESIS_HOOKS": schemathesis_hooks.__name__,
        schemathesis_hooks.FOLDER: str(folder),
    }
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
