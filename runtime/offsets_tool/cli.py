"""The command `headrace offsets`. Exit codes: 0 done, 1 failed, 2 wrong parameters or input, 130 interrupted."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from runtime.config import properties
from runtime.config.properties import comma_separated
from runtime.offsets_tool import document, plan
from runtime.offsets_tool.cluster import worker_file
from runtime.offsets_tool.codec import codec
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.errors import BadInput, ToolError
from runtime.offsets_tool.stores import OfflineStore, store

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
_STANDARD = "-"


def main(argv: Sequence[str]) -> int:
    """Runs the tool and returns the exit code."""
    parser = _parser()
    try:
        options = parser.parse_args(argv)
        _check(parser, options)
    except SystemExit as end:  # argparse has printed the reason and the usage
        return int(end.code or 0)
    try:
        gc.disable()  # millions of bytes objects, no cycles: a fifth of the time
        _run(options)
    except (BadInput, properties.PropertiesError) as e:
        return _say(str(e), USAGE)
    except ToolError as e:
        return _say(str(e), FAILED)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except OSError as e:
        if e.filename is None:  # the standard output: see __main__.py
            raise
        return _say(f"{e.filename}: {e.strerror}", FAILED)
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "headrace offsets",
        description="Exports and imports the offsets of a stopped Connect cluster as JSON (KIP-199).",
        allow_abbrev=False,
    )
    parser.add_argument("--config", required=True, metavar="FILE", help="the workers' properties file")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument(
        "--export", nargs="?", const=_STANDARD, metavar="FILE", help="write the offsets to FILE or standard output"
    )
    import_help = "set the offsets in FILE or standard input; null removes an offset, others are unchanged"
    mode.add_argument("--import", nargs="?", const=_STANDARD, metavar="FILE", dest="source", help=import_help)
    parser.add_argument("--connectors", metavar="A,B", help="only these connectors")
    parser.add_argument("--from-beginning", action="store_true", help="also export overwritten offsets")
    parser.add_argument("--dry-run", action="store_true", help="show what an import would change, and change nothing")
    parser.add_argument(
        "--force", action="store_true", help="run although a worker is running, or left a change unfinished"
    )
    return parser


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.from_beginning and options.export is None:
        parser.error("--from-beginning needs --export")
    if options.dry_run and options.source is None:
        parser.error("--dry-run needs --import")
    if options.connectors is not None and not comma_separated(options.connectors):
        parser.error("--connectors needs at least one name")


def _run(options: argparse.Namespace) -> None:
    props = worker_file(Path(options.config))
    where = store(props)
    connectors = None if options.connectors is None else set(comma_separated(options.connectors))
    wanted = None if options.source is None else document.read(_read(options.source), options.source)
    if not options.force:
        _check_stopped(where)
    if wanted is None:
        offsets = Offsets(codec(props), connectors, history=options.from_beginning)
        where.load(offsets)
        _export(offsets, options.export)
    else:
        _import(where, props, {n: e for n, e in wanted.items() if connectors is None or n in connectors}, options)


def _check_stopped(where: OfflineStore) -> None:
    """Raises ToolError if a worker is running or an interrupted change of offsets is pending."""
    if (worker := where.running_worker()) is not None:
        raise ToolError(
            f"a worker is running ({worker}), which may overwrite these offsets or have newer ones; stop it, "
            "alter offsets over its REST API, or use --force"
        )
    if unfinished := where.unfinished():
        raise ToolError(
            f"a change of the offsets of {', '.join(unfinished)} was interrupted; the next worker will finish it at "
            "its start: start and stop a worker first, or use --force"
        )


def _export(offsets: Offsets, target: str) -> None:
    if target == _STANDARD:
        document.write(offsets, sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
        return
    total, connectors = document.save(offsets, Path(target))
    print(f"{total} offsets of {connectors} connectors written to {target}", file=sys.stderr)


def _import(where: OfflineStore, props: dict[str, str], wanted: document.Document, options: argparse.Namespace) -> None:
    wanted = where.check(wanted)
    how = codec(props)
    stored = Offsets(how, set(wanted))
    where.load(stored)
    planned = plan.changes(wanted, stored)
    if options.dry_run:
        for change in planned:
            print(change)
        print(f"{len(planned)} offsets would be changed", file=sys.stderr)
        return
    if planned:
        where.write(planned, how)
    print(f"{len(planned)} offsets changed", file=sys.stderr)


def _read(source: str) -> bytes:
    return sys.stdin.buffer.read() if source == _STANDARD else Path(source).read_bytes()


def _say(message: str, code: int) -> int:
    print(f"headrace offsets: {message}", file=sys.stderr)
    return code
