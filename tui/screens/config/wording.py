"""Texts about configs: documentation of a key, differences, problems, results of a change."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from textual.content import Content

from tui.config.applying import ChangedMeanwhile, ConfigApplied
from tui.config.changes import ConfigChange
from tui.config.definitions import KeyDefinition
from tui.config.draft import ConfigReview
from tui.config.secrets import MASK, hides
from tui.editor.checks import Problem, Severity
from tui.errors import HeadraceError
from tui.formatting import counted, one_line
from tui.widgets.text import visible

Part = str | Content | tuple[str, str]
MAX_PROBLEMS = 12  # shown at once
STYLES = {"+": "$success", "−": "$error", "~": "$warning"}


def documentation(name: str, key: KeyDefinition | None) -> Content:
    """The plugin's documentation of a key, or a line saying that the plugin has none."""
    parts: list[Part] = [(visible(name), "bold $accent")]
    if key is None:
        parts.append(("  not defined by this plugin: no documentation", "$text-muted"))
        return Content.assemble(*parts)
    facts = [key.type.lower(), "required" if key.required else f"default {_default(key)}"]
    facts += [f"importance {key.importance.lower()}"] if key.importance else []
    facts += [key.group] if key.group else []
    parts.append((f"  {visible(', '.join(facts))}\n", "$text-muted"))
    parts.append(visible(one_line(key.documentation) or "The plugin has no documentation for it."))
    if key.choices:
        shown = ", ".join(key.choices[:12]) + (f" and {len(key.choices) - 12} more" if key.choices[12:] else "")
        parts.append((f"\nvalues: {visible(shown)}", "$text-muted"))
    return Content.assemble(*parts)


def _default(key: KeyDefinition) -> str:
    return "none" if key.default is None else '""' if key.default == "" else key.default


def diff(changes: Sequence[ConfigChange], passwords: Collection[str] = (), most: int = 60) -> Content:
    """A line for each side of each change, as in a patch; at most `most` changes."""
    lines = []
    for change in changes[:most]:
        for sign, value, style in (("−", change.before, "$error"), ("+", change.after, "$success")):
            if value is not None:
                text = MASK if hides(change.key, value, passwords) else value
                lines.append(Content.assemble((f"{sign} {visible(change.key)} = {visible(text)}", style)))
    if len(changes) > most:
        lines.append(Content.assemble((f"and {len(changes) - most:,} more", "$text-muted")))
    return Content("\n").join(lines)


def problem(error: Problem) -> Content:
    glyph, style = ("✗", "$error") if error.severity is Severity.ERROR else ("!", "$warning")
    where = f"line {error.place.line}: " if error.place.line else ""
    return Content.assemble((f"{glyph} {where}", f"bold {style}"), (_visible_line(error.message), style))


def _visible_line(text: str) -> str:
    return visible(one_line(text))


def review(review: ConfigReview, passwords: Collection[str], asking: bool, trouble: str, new: bool = False) -> Content:
    """The text beside the editor: problems first, then the difference."""
    lines = [problem(error) for error in review.problems[:MAX_PROBLEMS]]
    if len(review.problems) > MAX_PROBLEMS:
        lines.append(Content.assemble((f"and {len(review.problems) - MAX_PROBLEMS} more", "$text-muted")))
    if trouble:
        lines.append(Content.assemble((f"! not validated: {visible(trouble)}", "$warning")))
    if not review.read.problems and not new:
        if review.changes:
            lines.append(Content.assemble((f"would change {counted(len(review.changes), 'key')}", "bold")))
            lines.append(diff(review.changes, passwords))
        elif not review.problems:
            lines.append(Content.assemble(("no change yet", "$text-muted")))
    if asking:
        lines.append(Content.assemble(("… validating", "$accent")))
    elif not review.errors and not trouble and (review.changes or new):
        lines.append(Content.assemble(("✓ valid", "$success")))
    return Content("\n").join(lines)


def question(changes: Sequence[ConfigChange], passwords: Collection[str], state: str) -> Content:
    effect = {
        "STOPPED": "The connector stays STOPPED; the new config takes effect when it is resumed.",
        "PAUSED": "The connector stays PAUSED; its tasks restart with the new config.",
    }.get(state, "The tasks restart with the new config.")
    lines = [diff(changes, passwords), Content("")]
    lines.append(Content(f"{effect} Only these keys are sent, and nothing if the config was changed by someone else."))
    return Content("\n").join(lines)


def applied(done: ConfigApplied, changes: Sequence[ConfigChange], passwords: Collection[str] = ()) -> Content:
    keys = ", ".join(change.key for change in changes)
    parts: list[Part] = [("✓ applied", "bold $success"), f"  {visible(keys)}"]
    if not done.patched:
        parts.append(
            ("\nthis worker does not support PATCH: the whole config was sent, with the changes", "$text-muted")
        )
    if done.differing:
        parts += [("\nthe config read back differs: ", "bold $warning"), diff(done.differing, passwords)]
    if done.trouble:
        parts.append((f"\ncould not be read back: {visible(done.trouble)}", "$warning"))
    return Content.assemble(*parts)


def refused(error: HeadraceError, passwords: Collection[str] = ()) -> Content:
    """The server's message; the text is kept."""
    parts: list[Part] = [
        ("✗ not applied", "bold $error"),
        "  the text is kept\n",
        (visible_block(error.message), "$error"),
    ]
    if isinstance(error, ChangedMeanwhile):
        parts += ["\nchanged by someone else since you opened it:\n", diff(error.theirs, passwords, 6)]
        parts.append("\nDifferences are now shown against the current config; apply again to overwrite it.")
    elif error.advice:
        parts += ["\n", visible(error.advice)]
    return Content.assemble(*parts)


def visible_block(text: str) -> str:
    return "\n".join(visible(line) for line in text.split("\n") if line.strip())


def nothing() -> Content:
    return Content("")
