"""Schemathesis over the worker's own /openapi.json: no 500, and no answer that the document does not describe."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import schemathesis_hooks
from tests.support.workers import WorkerProcess

SECONDS = int(os.environ.get("HEADRACE_SCHEMATHESIS_SECONDS", "60"))
SEED = os.environ.get("HEADRACE_SCHEMATHESIS_SEED", "875")  # the same requests each time; another one looks for more
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "response_headers_conformance", "negative_data_rejection", "use_after_free", "ensure_resource_availability",
)  # fmt: skip

SETTINGS = (
    "\n".join(["[checks]", "enabled = false", *(f"{check}.enabled = true" for check in CHECKS)])
    + r"""
[[operations]]
include-path-regex = '^/connectors/\{name\}/(offsets|topics)'
checks.use_after_free.enabled = false
"""
)
"""DELETE of offsets is a reset: they can be read afterwards, and there are none. Who changed them is told of a
connector that is gone, too. Topics are answered of any name, as by Apache's worker: a connector that is not there has
used none. Checks that the command line names would count everywhere."""


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 2 + 120)
def test_answers_are_those_of_the_document(worker: Callable[..., WorkerProcess], tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    process = worker({"headrace.file.paths": str(tmp_path), "headrace.slots": "1"})
    command = [
        sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()",
        "run", f"{process.url}/openapi.json", "--max-time", str(SECONDS), "--seed", SEED,
        "--exclude-path", "/events", "--continue-on-failure", "--warnings", "off", "--no-color",
    ]  # fmt: skip
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path.cwd()),
        "SCHEMATHESIS_HOOKS": schemathesis_hooks.__name__,
        schemathesis_hooks.FOLDER: str(tmp_path),
    }
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    assert process.request("GET", "/health")[0] == 200
    assert "Traceback" not in process.log.read_text()
