"""The command `headrace plugin`. Exit codes: 0 done, 1 a check failed or the command did, 2 usage, 130 interrupted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from runtime.plugin_kit.errors import KitError

_INTERRUPTED = 130
_KINDS = {
    "source": "a connector that reads from another system",
    "sink": "a connector that writes to another system",
    "transform": "a transformation of records",
    "converter": "a converter between records and bytes",
}


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has printed the reason and the usage
        return int(end.code or 0)
    try:
        code: int = arguments.command(arguments)
        sys.stdout.flush()
    except KitError as error:
        print(f"headrace plugin: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:  # such as a folder that may not be written
        if error.filename is None:  # the standard output: see __main__.py
            raise
        print(f"headrace plugin: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "headrace plugin",
        description="Writes, lists, tests and tries plugins: see docs/plugins.md.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(metavar="new|list|test|run|install|update|remove|lock", required=True)
    new = verbs.add_parser(
        "new",
        help="write a project with a working plugin",
        description="Writes a project with a working plugin, its tests, an example and a README into a new folder.",
    )
    new.add_argument("name", metavar="NAME", help="name of the project and its folder, such as river-levels")
    kinds = new.add_mutually_exclusive_group(required=True)
    for kind, what in _KINDS.items():
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, help=what)
    new.add_argument("--async", dest="is_async", action="store_true", help="a connector whose task has coroutines")
    new.add_argument("--into", type=Path, default=Path(), metavar="FOLDER", help="parent of the new folder")
    new.set_defaults(command=_new)
    listing = verbs.add_parser(
        "list",
        help="list the plugins that a worker finds",
        description="Lists bundled plugins, those of installed packages, and those in plugin.path, without importing "
        "them.",
    )
    where = listing.add_mutually_exclusive_group()
    where.add_argument("--plugin-path", default="", metavar="FOLDERS", help="folders, separated by commas")
    where.add_argument("--config", type=Path, metavar="FILE", help="take plugin.path from a worker's properties file")
    listing.add_argument("--own", action="store_true", help="without the bundled plugins")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(command=_list)
    test = verbs.add_parser(
        "test",
        help="run the conformance suite",
        description="Runs the conformance suite on the plugins of a project. Their examples are in the list CASES of "
        "conformance.py, in the project's folder or in its folder tests.",
    )
    test.add_argument("path", type=Path, metavar="PATH", help="folder of a project or package, or file of a module")
    test.add_argument("--only", action="append", default=[], metavar="CHECK", help="only this check; * and ? match")
    test.add_argument("--json", action="store_true", help="print the report as JSON")
    test.set_defaults(command=_test)
    run = verbs.add_parser(
        "run",
        help="try a plugin, with its records on the screen",
        description="Runs a plugin with the configuration in CONFIG.json and shows its records until ^C: on the "
        "embedded cluster or, with --records or --input, in this process without Kafka.",
    )
    run.add_argument("path", type=Path, metavar="PATH", help="folder of a project or package, or file of a module")
    run.add_argument("config", type=Path, metavar="CONFIG.json", help="the connector's configuration")
    run.add_argument("--records", type=_count, metavar="N", help="stop after N records; no cluster is started")
    run.add_argument(
        "--input", type=Path, metavar="FILE", help="records of a sink or transformation: a JSON value on each line"
    )
    run.add_argument("--cluster", action="store_true", help="use the embedded cluster also with --records or --input")
    run.set_defaults(command=_run)
    _add_installer(verbs)
    return parser


def _add_installer(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    install = verbs.add_parser(
        "install",
        help="install a Java connector by its Maven coordinates, or from an archive",
        description="Downloads a Java connector with its runtime dependencies into a folder of plugin.path: a jar by "
        "GROUP:ARTIFACT:VERSION, a plugin archive by GROUP:ARTIFACT:VERSION:plugin@tar.gz or @zip. Or unpacks an "
        "archive on this machine, such as one of Confluent Hub.",
    )
    what = install.add_mutually_exclusive_group(required=True)
    what.add_argument("source", nargs="?", metavar="GROUP:ARTIFACT:VERSION[:CLASSIFIER][@EXTENSION]|FILE")
    what.add_argument("--lock", type=Path, metavar="FILE", help="the plugins of a lock file, with exactly its jars")
    install.set_defaults(command=_install)
    update = verbs.add_parser(
        "update",
        help="replace an installed Java connector by another version",
        description="Installs the newest release of a plugin, or the version given, then removes the present one.",
    )
    update.add_argument("name", metavar="NAME", help="its folder in plugin.path, with or without the version")
    update.add_argument("--version", metavar="VERSION", help="this version instead of the newest release")
    update.set_defaults(command=_update)
    remove = verbs.add_parser(
        "remove",
        help="remove an installed Java connector",
        description="Removes the folder of a plugin that headrace plugin install has written.",
    )
    remove.add_argument("name", metavar="NAME", help="its folder in plugin.path, with or without the version")
    remove.set_defaults(command=_remove)
    lock = verbs.add_parser(
        "lock",
        help="write the installed Java connectors to a lock file",
        description="Writes coordinates and checksums of the plugins that headrace plugin install has written, for "
        "headrace plugin install --lock FILE on other machines.",
    )
    lock.add_argument("--output", type=Path, default=Path("plugins.lock"), metavar="FILE", help="plugins.lock")
    lock.set_defaults(command=_lock)
    for verb in (install, update, remove, lock):
        into = verb.add_mutually_exclusive_group(required=True)
        into.add_argument("--plugin-path", metavar="FOLDER", help="the folder of plugins")
        into.add_argument("--config", type=Path, metavar="FILE", help="use the first folder of a worker's plugin.path")
    for verb in (install, update):
        verb.add_argument("--repository", metavar="URL", help="use this Maven repository")
        verb.add_argument("--offline", action="store_true", help="use only what was downloaded before")


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of records")
    return int(text)


def _new(arguments: argparse.Namespace) -> int:
    from runtime.plugin_kit.project.new import KINDS, new_project

    folder, files = new_project(arguments.name, arguments.kind, arguments.is_async, arguments.into)
    for file in files:
        print(f"  {folder / file}")
    print(f"\nThe {KINDS[arguments.kind].what} works already. Next:\n")
    steps = ("headrace plugin test .", *KINDS[arguments.kind].next_steps)
    for step in (f"cd {folder}", *steps):
        print(f"  {step}")
    print("\nREADME.md tells how to change it, and how to build and install the wheel.")
    return 0


def _folders(arguments: argparse.Namespace) -> list[str]:
    """The folders that --plugin-path or --config names."""
    from runtime.config.properties import comma_separated
    from runtime.plugin_kit.list_command import worker_path

    return worker_path(arguments.config) if arguments.config else comma_separated(arguments.plugin_path)


def _list(arguments: argparse.Namespace) -> int:
    from runtime.plugin_kit.list_command import list_plugins

    return list_plugins(_folders(arguments), arguments.own, arguments.json)


def _install(arguments: argparse.Namespace) -> int:
    from runtime.plugin_kit.install_command import install_lock, install_plugin

    more = _folders(arguments), arguments.repository, arguments.offline
    return install_lock(arguments.lock, *more) if arguments.lock else install_plugin(arguments.source, *more)


def _update(arguments: argparse.Namespace) -> int:
    from runtime.plugin_kit.install_command import update_plugin

    folders = _folders(arguments)
    return update_plugin(arguments.name, arguments.version, folders, arguments.repository, arguments.offline)


def _remove(arguments: argparse.Namespace) -> int:
    from runtime.plugin_kit.install_command import remove_plugin

    return remove_plugin(arguments.name, _folders(arguments))


def _lock(arguments: argparse.Namespace) -> int:
    from runtime.plugin_kit.install_command import write_lock

    return write_lock(arguments.output, _folders(arguments))


def _test(arguments: argparse.Namespace) -> int:
    from runtime.plugin_kit.conformance_command import run_suite

    return run_suite(arguments.path, arguments.only, arguments.json)


def _run(arguments: argparse.Namespace) -> int:
    from runtime.api.errors import ConfigError
    from runtime.plugin_kit.author_code import load
    from runtime.plugin_kit.trial import in_process, on_cluster
    from runtime.plugin_kit.trial.request import invalid, read_request
    from runtime.plugin_kit.trial.screen import Screen

    request = read_request(load(arguments.path), arguments.config, arguments.input, arguments.records)
    in_this_process = not arguments.cluster and (arguments.records or arguments.input)
    try:
        return in_process.run(request, Screen()) if in_this_process else on_cluster.run(request, Screen())
    except ConfigError as error:
        raise invalid(arguments.config, str(error)) from None
