"""Completion of `headrace plugin`, a command of the runtime, which the console does not import: a test compares this
table with the command's own parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

KINDS = ("--source", "--sink", "--transform", "--converter")
"""Options of `plugin new` of which one is given."""

OPTIONS: Mapping[str, Sequence[str]] = {
    "new": (*KINDS, "--async", "--into"),
    "list": ("--plugin-path", "--config", "--own", "--json"),
    "test": ("--only", "--json"),
    "run": ("--records", "--input", "--cluster"),
    "install": ("--lock", "--plugin-path", "--config", "--repository", "--offline"),
    "update": ("--version", "--plugin-path", "--config", "--repository", "--offline"),
    "remove": ("--plugin-path", "--config"),
    "lock": ("--output", "--plugin-path", "--config"),
}
"""The options of each verb."""

WITH_VALUE = frozenset((
    "--into", "--plugin-path", "--config", "--only", "--records", "--input", "--repository", "--lock", "--version",
    "--output",
))  # fmt: skip

CHECKS = (
    "documentation", "version", "example", "missing-keys", "invalid-values", "lifecycle", "stop-without-start",
    "stop-while-idle", "stop-without-records", "leaks", "resume", "alter-offsets", "exactly-once", "kill",
    "delivered-again", "poison", "applies", "odd-records", "batches", "decides", "there-and-back", "nulls",
    "odd-values", "malformed-bytes",
)  # fmt: skip
"""The values of `plugin test --only`."""


def after_plugin(before: Sequence[str], current: str) -> Sequence[str]:
    """The words that may follow `headrace plugin WORD…`; none where the shell completes file names."""
    if not before:
        return tuple(OPTIONS)
    verb, *given = before
    if given and given[-1] in WITH_VALUE:
        return CHECKS if given[-1] == "--only" else ()
    named = any(not word.startswith("-") for word in given)
    if not current.startswith("-") and not (verb == "new" and named):
        return ()
    used = {word for word in given if word != "--only"}
    if used & set(KINDS):
        used |= set(KINDS)
    return [option for option in OPTIONS.get(verb, ()) if option not in used]
