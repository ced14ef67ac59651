"""Texts about offsets: differences, problems, verdicts, as styled content."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from textual.content import Content

from tui.editor.draft import OffsetReview
from tui.formatting import counted, format_duration
from tui.model import Certainty
from tui.offsets import lag
from tui.offsets.changes import ChangeKind, Effect, OffsetChange
from tui.offsets.lag import Lag, OffsetWarnings
from tui.offsets.partitions import by_hand, shown, shown_offset
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied
from tui.widgets.text import visible

Part = str | Content | tuple[str, str]
MAX_PROBLEMS = 10  # shown at once
SIGNS = {ChangeKind.ALTER: ("~", "$warning"), ChangeKind.RESET: ("−", "$error"), ChangeKind.NEW: ("+", "$success")}


def diff(changes: Sequence[OffsetChange], most: int = 40) -> Content:
    """A line for each of at most `most` changes: partition, old and new offset, distance."""
    lines = []
    for change in changes[:most]:
        sign, style = SIGNS[change.kind]
        before = "none" if change.before is None else shown_offset(change.before)
        parts: list[Part] = [(f"{sign} ", f"bold {style}"), visible(shown(change.partition)), "  "]
        parts += [(visible(before), "$text-muted"), " → ", (visible(shown_offset(change.after)), f"bold {style}")]
        means = ", ".join(part for part in (change.step, str(change.effect or "")) if part)
        if means:
            parts.append((f"  ({means})", "$text-muted"))
        if change.kind is ChangeKind.NEW:
            parts.append(("  new", "$text-muted"))
        if change.remark:
            parts += ["\n  ", ("! ", "bold $warning"), (visible(change.remark), "$warning")]
        lines.append(Content.assemble(*parts))
    if len(changes) > most:
        lines.append(Content.assemble((f"and {len(changes) - most:,} more", "$text-muted")))
    return Content("\n").join(lines)


def review(review: OffsetReview) -> Content:
    """The text beside the editor: errors, or else the difference and warnings."""
    if review.checked.errors:
        errors = [_problem("✗", str(error), "$error") for error in review.checked.errors[:MAX_PROBLEMS]]
        return Content("\n").join(errors)
    lines = []
    if review.changes:
        total = f"would change {counted(len(review.changes), 'partition')}{_total(review.changes)}"
        lines += [Content.assemble((total, "bold"))]
        lines.append(diff(review.changes))
    else:
        lines.append(Content.assemble(("no change yet: edit an offset; null resets it", "$text-muted")))
    if review.left_out:
        words = "is" if len(review.left_out) == 1 else "are"
        text = f"{counted(len(review.left_out), 'partition')} {words} not in the text and will not be changed"
        lines.append(Content.assemble((text, "$text-muted")))
    lines += [_problem("!", str(problem), "$warning") for problem in review.checked.warnings[:MAX_PROBLEMS]]
    return Content("\n").join(lines)


def _total(changes: Sequence[OffsetChange]) -> str:
    """The total in records, if it is known for every change."""
    effects = [change.effect for change in changes if change.effect is not None]
    if len(effects) < len(changes) or len(changes) < 2:
        return ""
    return f": {Effect(sum(e.reread for e in effects), sum(e.skipped for e in effects)).total}"


def progress(lags: Mapping[str, Lag], remarks: OffsetWarnings) -> Content:
    """The lines above the table: total lag and warnings; empty if nothing is known."""
    now = int(time.time() * 1000)
    styles = ["$error" if text.startswith("STALLED") else "$warning" for text in remarks.lines(now)]
    lines = [Content.assemble((text, style)) for text, style in zip(remarks.lines(now), styles, strict=True)]
    if text := _how_far(lag.total(lags)):
        lines.insert(0, Content.assemble((text, "$text-muted")))
    return Content("\n").join(lines)


def age(seconds: float, trouble: str) -> str:
    """The age of offsets that could not be read again, and the reason."""
    return f"read {format_duration(seconds)} ago" + (f"; reading again failed: {trouble}" if trouble else "")


def _how_far(total: Lag) -> str:
    if total.records is not None:
        oldest = f", oldest {format_duration(total.behind_ms / 1000)}" if total.behind_ms else ""
        return f"lag {counted(total.records, 'record')}{oldest}" if total.records else "at the end"
    return "" if total.age_ms is None else f"last moved {format_duration(total.age_ms / 1000)} ago"


def _problem(glyph: str, text: str, style: str) -> Content:
    return Content.assemble((f"{glyph} ", f"bold {style}"), (visible(text), style))


def question(plan: OffsetPlan) -> Content:
    """The body of the dialog before anything is sent."""
    parts: list[Part] = [diff(plan.changes, 100), "\n\n"]
    if plan.must_stop:
        back = {"pause": "pause it again"}.get(plan.restoring_verb, "resume it")
        parts += [
            (f"{visible(plan.name)} is {plan.state}. ", "bold"),
            "In one step: stop it, wait until it is STOPPED, check that no one else has changed these offsets, ",
            f"alter them, read them back, {back}.",
        ]
    else:
        parts.append(
            "The offsets are read again first; if someone else has changed them, nothing is sent. "
            "The connector stays STOPPED."
        )
    return Content.assemble(*parts)


def verdict(plan: OffsetPlan, done: OffsetsApplied) -> tuple[Content, str]:
    """The server's response verbatim, and the CSS class of its frame."""
    definite = done.verdict.certainty is Certainty.DEFINITE
    style = "$success" if definite and not done.differing else "$warning"
    head = "✓ definite success" if definite else "! possible success"
    if definite and done.differing:
        head = "! not as requested"
    parts: list[Part] = [(head, f"bold {style}"), (f"  {visible(plan.name)}", "bold")]
    # The rest may be below the end of a small banner.
    if done.trouble:
        parts += ["\n", (visible(done.trouble), "$error")]
    if done.differing:
        verb = "offset differs" if len(done.differing) == 1 else "offsets differ"
        text = f"after reading back, {len(done.differing):,} {verb} from the request, see below"
        parts += ["\n", (text, "bold $error")]
    if done.left_stopped:
        parts += ["\n", ("The connector remains STOPPED; r resumes it.", "bold")]
    elif plan.must_stop and not done.plan.must_stop:
        parts += ["\n", ("The connector remains STOPPED, since someone else has stopped it; r resumes it.", "bold")]
    parts += ["\n", visible(done.verdict.message)]
    if not definite:
        parts += ["\n", ("to do: ", f"bold {style}"), visible(by_hand(done.verdict).removeprefix("possible success: "))]
    if done.moved:
        parts += ["\n", ("offsets moved meanwhile; applied: ", "bold"), diff(done.moved, 3)]
    if done.differing:
        parts += ["\n", ("requested, but not read back:\n", "bold"), diff(done.differing)]
    parts.append(("\nu opens the editor with the old offsets", "$text-muted"))
    return Content.assemble(*parts), "-definite" if style == "$success" else "-possible"


def refusal(error: OffsetsNotApplied) -> Content:
    head = ("! unfinished", "bold $warning") if error.unfinished else ("✗ not applied", "bold $error")
    parts: list[Part] = [head, "  the text is kept\n", (visible(error.message), "$error")]
    if error.advice:
        parts += ["\n", visible(error.advice)]
    if error.conflicts:
        parts.append("\nDifferences are now shown against the current offsets; apply again to overwrite them.")
    if error.stopped:
        parts += ["\n", ("The connector was stopped for the change and could not be resumed.", "bold")]
    return Content.assemble(*parts)
