"""The start of a task host JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.java.errors import HostLostError
from runtime.java.host.jvm import TaskHostJvm
from runtime.java.host.process import JvmSettings


def test_a_jvm_that_freezes_before_its_first_answer_is_killed(tmp_path: Path) -> None:
    java = tmp_path / "java"
    ended: list[TaskHostJvm] = []
    java.write_text("#!/bin/sh\nexec sleep 600\n")
    java.chmod(0o755)
    with pytest.raises(HostLostError, match="has not responded within 1 s of its start"):
        TaskHostJvm(JvmSettings(java, []), {}, ended.append, start_timeout=0.6)
    assert len(ended) == 1 and not ended[0].alive
