"""What the screens say about configs: documentation of a key, differences, problems, what became of a change."""

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
MOST = 12  # problems shown at once
INKS = {"+": "$success", "−": "$error", "~": "$warning"}


def documentation(name: str, key: KeyDefinition | None) -> Content:
    """What the plugin says of a key; a line where it says nothing."""
    parts: list[Part] = [(visible(name), "bold $accent")]
    if key is None:
        parts.append(("  not a key of this plugin's own: no documentation", "$text-muted"))
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


def diff(made: Sequence[ConfigChange], passwords: Collection[str] = (), most: int = 60) -> Content:
    """A line for each side of each change, as in a patch."""
    lines = []
    for change in made[:most]:
        for sign, value, ink in (("−", change.before, "$error"), ("+", change.after, "$success")):
            if value is not None:
                text = MASK if hides(change.key, value, passwords) else value
                lines.append(Content.assemble((f"{sign} {visible(change.key)} = {visible(text)}", ink)))
    if len(made) > most:
        lines.append(Content.assemble((f"and {len(made) - most:,} more", "$text-muted")))
    return Content("\n").join(lines)


def problem(one: Problem) -> Content:
    glyph, ink = ("✗", "$error") if one.severity is Severity.ERROR else ("!", "$warning")
    where = f"line {one.place.line}: " if one.place.line else ""
    return Content.assemble((f"{glyph} {where}", f"bold {ink}"), (_visible_line(one.message), ink))


def _visible_line(text: str) -> str:
    return visible(one_line(text))


def review(found: ConfigReview, passwords: Collection[str], asking: bool, trouble: str, new: bool = False) -> Content:
    """Beside the editor: problems first, then the difference."""
    lines = [problem(one) for one in found.problems[:MOST]]
    if len(found.problems) > MOST:
        lines.append(Content.assemble((f"and {len(found.problems) - MOST} more", "$text-muted")))
    if trouble:
        lines.append(Content.assemble((f"! not validated: {visible(trouble)}", "$warning")))
    if not found.read.problems and not new:
        if found.changes:
            lines.append(Content.assemble((f"would change {counted(len(found.changes), 'key')}", "bold")))
            lines.append(diff(found.changes, passwords))
        elif not found.problems:
            lines.append(Content.assemble(("no change yet", "$text-muted")))
    if asking:
        lines.append(Content.assemble(("… the worker validates", "$accent")))
    elif not found.errors and not trouble and (found.changes or new):
        lines.append(Content.assemble(("✓ the worker finds it valid", "$success")))
    return Content("\n").join(lines)


def question(made: Sequence[ConfigChange], passwords: Collection[str], state: str) -> Content:
    effect = {
        "STOPPED": "It is STOPPED and stays so; the new config holds when it is resumed.",
        "PAUSED": "It is PAUSED; its tasks start anew with the new config and stay paused.",
    }.get(state, "Its tasks start anew with the new config.")
    lines = [diff(made, passwords), Content("")]
    lines.append(Content(f"{effect} Only these keys are sent, and nothing if somebody else changed the config."))
    return Content("\n").join(lines)


def applied(done: ConfigApplied, made: Sequence[ConfigChange]) -> Content:
    keys = ", ".join(change.key for change in made)
    parts: list[Part] = [("✓ applied", "bold $success"), f"  {visible(keys)}"]
    if not done.patched:
        parts.append(
            ("\nthis worker knows no PATCH: the whole config was sent, as read a moment before", "$text-muted")
        )
    if done.differing:
        parts += [("\nread back, but different: ", "bold $warning"), diff(done.differing)]
    if done.trouble:
        parts.append((f"\nit could not be read back: {visible(done.trouble)}", "$warning"))
    return Content.assemble(*parts)


def refused(error: HeadraceError, passwords: Collection[str] = ()) -> Content:
    """The server's own words; the text is kept."""
    parts: list[Part] = [
        ("✗ not applied", "bold $error"),
        "  the text is kept\n",
        (visible_block(error.message), "$error"),
    ]
    if isinstance(error, ChangedMeanwhile):
        parts += ["\nsomebody else made of what you had before your eyes:\n", diff(error.theirs, passwords, 6)]
        parts.append("\nThe difference is now against what is there; apply again if you still want it.")
    elif error.advice:
        parts += ["\n", visible(error.advice)]
    return Content.assemble(*parts)


def visible_block(text: str) -> str:
    return "\n".join(visible(line) for line in text.split("\n") if line.strip())


def nothing() -> Content:
    return Content("")
