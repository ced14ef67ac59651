"""Schemathesis over the worker's own /openapi.json: no 500, and every answer as the document describes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.clusters.api_fuzzing import run_schemathesis
from tests.support.workers import StartWorker

SECONDS = int(os.environ.get("HEADRACE_SCHEMATHESIS_SECONDS", "12"))
SEED = os.environ.get("HEADRACE_SCHEMATHESIS_SEED", "875")  # a fixed seed gives the same requests in each run


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(120, marks=pytest.mark.soak)])
def test_answers_conform_to_the_document(worker: StartWorker, tmp_path: Path, seconds: int) -> None:
    process = worker({"headrace.file.paths": str(tmp_path), "headrace.slots": "1"})
    done = run_schemathesis(process.url, tmp_path, seconds, SEED)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    assert process.request("GET", "/health")[0] == 200
    assert "Traceback" not in process.log.read_text()
