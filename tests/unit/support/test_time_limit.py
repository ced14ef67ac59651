"""A test that catches the exception of its time limit ends nevertheless."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONFTEST = """
from tests.support.time_limit import TimeLimit

def pytest_configure(config):
    config.pluginmanager.register(TimeLimit(1.0))
"""
ENDLESS = """
import time

def test_endless():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
"""


def test_a_test_that_outlasts_its_limit_ends_with_its_stack(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "pytest", "-p", "pytest_timeout", "--timeout=1", "--rootdir", str(tmp_path)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(
        [*command, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert "test_endless.py" in ended.stderr and "in test_endless" in ended.stderr
