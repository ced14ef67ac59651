"""The command `headrace plugin`. Exit codes: 0 done, 1 a check failed or the command did, 2 usage, 130 interrupted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from runtime.plugin_kit.errors import KitError

_INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has printed the reason and the usage
        return int(end.code or 0)
    try:
        code: int = arguments.command(arguments)
    except KitError as error:
        print(f"headrace plugin: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "headrace plugin",
        description="Writes, lists, tests and tries plugins: see docs/plugins.md.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(metavar="new|list|test|run", required=True)
    test = verbs.add_parser(
        "test",
        help="run the conformance suite",
        description="Runs the conformance suite on the plugins of a project. Their examples are in the list CASES of "
        "conformance.py, in the project's folder or in its folder tests.",
    )
    test.add_argument("path", type=Path, metavar="PATH", help="folder of a project, a package, or a module")
    test.add_argument("--only", action="append", default=[], metavar="CHECK", help="only this check; * and ? match")
    test.add_argument("--json", action="store_true", help="print the report as JSON")
    test.set_defaults(command=_test)
    return parser


def _test(arguments: argparse.Namespace) -> int:
    from runtime.plugin_kit.conformance_command import run_suite

    return run_suite(arguments.path, arguments.only, arguments.json)
