"""The runtime's commands in the C locale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def test_files_beyond_ascii_without_utf8_mode(tmp_path: Path) -> None:
    offsets, file = tmp_path / "dä.offsets", tmp_path / "worker.properties"
    offsets.touch()
    file.write_text(
        f"bootstrap.servers=127.0.0.1:1\nkey.converter={CONVERTER}\nvalue.converter={CONVERTER}\n"
        f"offset.storage.file.filename={offsets}\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "runtime", "offsets", f"--config={file}", "--export"]
    env = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "{}", "")
