"""The arguments of the process: what to run, and on which cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tui.errors import UsageError

USAGE_TEXT = """\
Headrace: a console for Kafka Connect, with a Connect-compatible worker.

headrace                        the screen, on the current context; with none,
                                on the embedded cluster
headrace URL | --context NAME   the screen on that cluster
                                (also HEADRACE_URL, HEADRACE_CONTEXT)
headrace -c 'COMMAND' …         run commands; `headrace -c help` lists them
headrace --script FILE|-        run a script of one command per line, with `#`
                                comments; stops at the first failure unless
                                --keep-going is given
headrace --record FILE          the screen, recording all responses to FILE
                                without secrets; --replay FILE shows them again
headrace preview [URL] NAME …   records before and after a connector's
                                transformations
headrace check [URL] …          check connectors once: 0 OK, 1 WARNING,
                                2 CRITICAL, 3 UNKNOWN
headrace watch [URL] …          watch connectors, and notify of incidents
headrace backup [URL] FILE      configs, states and offsets of a cluster
headrace restore [URL] FILE     connectors of a backup, here or elsewhere;
                                --dry-run shows the plan
headrace config                 every setting with its value and origin
headrace completion bash|zsh|fish
                                a completion script for the shell
headrace doctor [--config FILE.properties]
                                check this machine, and the plugins and Kafka
                                clients of a worker
headrace migrate check FILE.properties [--connect URL]
                                what a move of Apache's workers takes
headrace migrate run FILE.properties --connect URL [--back]
                                the move, step by step, and back
headrace embedded up|down|status|run
                                the embedded broker and worker
headrace worker distributed FILE.properties
headrace worker standalone FILE.properties CONNECTOR.{properties,json}…
headrace offsets --config FILE.properties --export|--import …
                                committed offsets, without a worker (KIP-199)
headrace plugin new|list|test|run|install …
                                write, list, test, try and install plugins

--read-only                     refuse every change
--version, --help               show the version, show this text

exit codes of scripts: 0 done, 1 refused or failed, 2 usage, 3 not found,
4 conflict or wrong state, 5 unreachable, 6 timed out, 7 refused by read-only,
8 a dry run or diff found changes, 9 needs another version of Connect,
129, 130, 143 ended by a signal
"""


def read_options(words: Sequence[str]) -> dict[str, Any]:
    """The given options: url, context, script, commands, keep_going, read_only, record, replay, help, version. Raises
    UsageError."""
    options: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in _FLAGS:
            options[_FLAGS[word]] = True
        elif name in ("--script", "--context", "--record", "--replay"):
            if not equals and not rest:
                raise UsageError(f"{name} needs a value")
            options[name[2:]] = value if equals else rest.pop(0)
        elif word in ("-c", "--command"):
            options["commands"] = (*options.get("commands", ()), *_commands(rest))
        elif is_url(word) and "url" not in options:
            options["url"] = word
        else:
            raise _invalid_argument(word, words)
    if "script" in options and "commands" in options:
        raise UsageError("give --script or -c, not both")
    if options.keys() & {"record", "replay"} and options.keys() & {"script", "commands"}:
        raise UsageError("--record and --replay apply to the screen, not to scripts")
    if {"record", "replay"} <= options.keys():
        raise UsageError("give --record or --replay, not both")
    return options


def cluster_options(words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The options that choose a cluster (url, context, read_only) among the words of a command, and the other words.
    Raises UsageError."""
    options: dict[str, Any] = {}
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if name == "--context":
            if not equals and not left:
                raise UsageError("--context needs a value")
            options["context"] = value if equals else left.pop(0)
        elif word == "--read-only":
            options["read_only"] = True
        elif is_url(word) and "url" not in options:
            options["url"] = word
        else:
            rest.append(word)
    return options, rest


def leading_cluster_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The first words, as far as they choose a cluster, and the rest."""
    left = list(words)
    leading: list[str] = []
    while left and (left[0].startswith("--context") or left[0] == "--read-only" or is_url(left[0])):
        size = 2 if left[0] == "--context" else 1
        leading, left = leading + left[:size], left[size:]
    return leading, left


_FLAGS = {
    "--keep-going": "keep_going",
    "--read-only": "read_only",
    "--help": "help",
    "-h": "help",
    "--version": "version",
}


def _commands(rest: list[str]) -> list[str]:
    """The commands after -c, up to an option or a URL, which no command begins with."""
    commands = []
    while rest and not rest[0].startswith("-") and not is_url(rest[0]):
        commands.append(rest.pop(0))
    if not commands:
        raise UsageError("-c needs a command, quoted: -c 'get connectors'")
    return commands


def is_url(word: str) -> bool:
    """Whether the argument is an HTTP URL."""
    return word.startswith(("http://", "https://")) and " " not in word


_ADDRESS = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}(/\S*)?", re.ASCII)  # a host and its port


def _invalid_argument(word: str, words: Sequence[str]) -> UsageError:
    if word.startswith("-"):
        return UsageError(f"unknown option {word}", "see: headrace --help")
    if _ADDRESS.fullmatch(word):
        return UsageError(f"{word!r} is neither a URL nor a command", f"did you mean http://{word}?")
    from tui.commands.registry import find

    try:
        find(tuple(words))
    except UsageError:
        return UsageError(f"{word!r} is neither a URL nor a command", "see: headrace --help")
    return UsageError(f"give commands after -c: headrace -c '{' '.join(words)}'")
