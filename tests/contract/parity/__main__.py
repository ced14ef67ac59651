"""Records the scenarios at any Connect worker: `python -m tests.contract.parity --url URL --bootstrap SERVERS
--config-topic C --offset-topic O --status-topic S --output FILE [SCENARIO …]`; with `--reference FILE`, prints the
differences from that recording instead."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.contract.parity.recorder import Target, Topic
from tests.contract.parity.registry import GROUPS, SCENARIOS
from tests.contract.parity.replay import record_all, replay

_KINDS: tuple[Topic, ...] = ("config", "offset", "status")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.contract.parity")
    for option in ("url", "bootstrap", *(f"{kind}-topic" for kind in _KINDS)):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--wait", type=float, default=30.0, help="bound of each wait in seconds")
    output = parser.add_mutually_exclusive_group(required=True)
    output.add_argument("--output", type=Path)
    output.add_argument("--reference", type=Path)
    parser.add_argument("scenarios", nargs="*", help=f"of {', '.join(SCENARIOS)}")
    given = parser.parse_args()
    topics = {kind: getattr(given, f"{kind}_topic") for kind in _KINDS}
    names = given.scenarios or list(SCENARIOS)
    with tempfile.TemporaryDirectory() as folder:
        target = Target(given.url.rstrip("/"), given.bootstrap, topics, Path(folder), given.wait)
        if given.reference:
            found = [line for lines in replay(target, names, given.reference).values() for line in lines]
            print("\n".join([*found, f"{len(found)} steps differ"]))
            return bool(found)
        recorded = record_all(target, names)
    scenarios = {name: {"group": GROUPS[name], "steps": len(steps)} for name, steps in recorded.items()}
    steps = [step for found in recorded.values() for step in found]
    text = json.dumps({"scenarios": scenarios, "steps": steps}, indent=1, ensure_ascii=False)
    given.output.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
