"""The class archive of the task host JVM."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtime.java.host.archive import with_archive
from tests.support.java.host import own_host, probe, settings
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


def test_an_archive_is_recorded_in_the_background_and_then_used(tmp_path: Path) -> None:
    plain = replace(settings(), archive=None)
    assert with_archive(plain, tmp_path).archive is None
    wait_until(lambda: with_archive(plain, tmp_path).archive is not None, 120)
    found = with_archive(plain, tmp_path)
    log = tmp_path / "classes.log"
    with own_host(replace(found, options=[f"-Xlog:class+load:file={log}"])) as host:
        assert host.create("sink_task", probe("ProbeSink"), "task").version == "7"
    shared = [line for line in log.read_text().splitlines() if "shared objects file (top)" in line]
    assert any("headrace.SinkTaskTarget" in line for line in shared)
    assert len(shared) > 100
    assert [file.suffix for file in tmp_path.iterdir() if file.name.startswith("classes-")].count(".jsa") == 1
