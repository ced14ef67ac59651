"""All clusters in one view: the state of every context and its age; Enter opens the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui import session
from tui.client.client import Connect
from tui.cluster.cluster_overview import ClusterOverview, ClusterSummary, OpenConnection
from tui.cluster.snapshot import LinkState
from tui.contexts.profiles import InvalidContext, Profile
from tui.errors import HeadraceError, error_line
from tui.formatting import counted, format_duration
from tui.screens.base.list_screen import ListScreen, closing
from tui.screens.clusters.worker_rows import in_glyphs
from tui.scrubbing import without_user
from tui.widgets import states
from tui.widgets.bars import Bar, KeyBar, StatusBar
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

COLUMNS = (
    Column("here", "", 1),
    Column("name", "CLUSTER", 20, grows=True, shrinks=True),
    Column("traits", "", 7),
    Column("worst", "WORST", 13),
    Column("counts", "CONNECTORS", 18, grows=True),
    Column("last_seen", "LAST SEEN", 9, rank=1, right=True),
    Column("kind", "WORKER", 8, rank=2),
    Column("version", "VERSION", 9, rank=3),
    Column("url", "URL", 24, rank=4, grows=True),
)


ReadContexts = Callable[[], tuple[list[Profile], Mapping[str, InvalidContext]]]
"""Reads all contexts: the valid ones, and those that are not."""


def connect_to(profile: Profile) -> Connect:
    return session.connect(profile, session.evented(profile))


class ClustersScreen(ListScreen[Profile | None]):
    """Returns the cluster to open. `read` reads the contexts again; it may raise HeadraceError. The main screen reports
    the state of its own cluster through `set_summary`."""

    DEFAULT_CSS = """
    ClustersScreen #counters { padding: 0 1; }
    ClustersScreen #explanation { height: auto; min-height: 2; max-height: 5; padding: 0 1; border-top: solid $border; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", priority=True),
        Binding("n", "failure(1)", "next with failures", show=False),
        closing("escape,q,C,ctrl+c"),
        Binding("f5,ctrl+l", "refresh", "refresh"),
    ]

    def __init__(
        self,
        profiles: Sequence[Profile],
        here: Profile,
        invalids: Mapping[str, InvalidContext],
        open_connection: OpenConnection = connect_to,
        read: ReadContexts | None = None,
    ) -> None:
        super().__init__()
        self.here, self.invalids, self._open_connection, self._read = here, invalids, open_connection, read
        self._trouble = ""  # why the contexts could not be read again
        self.profiles = {profile.label: profile for profile in profiles}
        self.current: ClusterSummary = ClusterSummary(here)  # updated by the main screen
        self.overview = self._new_overview()

    def _new_overview(self) -> ClusterOverview:
        others = [profile for profile in self.profiles.values() if profile.label != self.here.label]
        return ClusterOverview(others, self._open_connection, lambda summary: self.draw())

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        yield Bar(id="counters")
        yield Grid(COLUMNS, sortable=True)
        yield Static(id="explanation", markup=False)
        yield StatusBar()
        yield KeyBar()

    def on_mount(self) -> None:
        self.head("clusters")
        self.run_worker(self.overview.run(), group="overview", exclusive=True, exit_on_error=False)
        self.set_interval(1.0, self.draw)
        self.draw()
        self.grid.go(self.here.label)

    def set_summary(self, summary: ClusterSummary) -> None:
        """Updates the state of the main screen's cluster."""
        self.current = summary
        self.draw()

    @property
    def summaries(self) -> Mapping[str, ClusterSummary]:
        return {**self.overview.summaries, self.here.label: self.current}

    def draw(self) -> None:
        """Draws the clusters by name: a row that moved with each change of state would be hard to select."""
        if not self.query(Grid):
            return
        summaries = self.summaries
        keys = sorted([*self.profiles, *self.invalids])
        widest = {
            "name": max(len(_name(key)) for key in keys),
            "counts": max((len(_counts(summary).text) for summary in summaries.values()), default=0),
            "url": max((len(without_user(summary.profile.url)) for summary in summaries.values()), default=0),
        }
        self.query_one(Grid).show(keys, lambda key: self._row(key, summaries.get(key)), widest)
        distinct = _distinct([self.current, *summaries.values()])
        total = sum(summary.total for summary in distinct)
        failed = sum(summary.counts.get("FAILED", 0) for summary in distinct)
        lost = sum(summary.link.state is LinkState.LOST and not summary.link.is_refused for summary in distinct)
        refused = sum(summary.link.is_refused for summary in distinct)
        clusters = counted(len(distinct), "cluster")
        if len(distinct) < len(summaries):
            clusters = f"{counted(len(summaries), 'context')} of {clusters}"
        parts: list[str | tuple[str, str]] = [f"{clusters}, {counted(total, 'connector')}"]
        if failed:
            parts.append((f"   {states.glyph('FAILED')} {failed:,} failed", "bold $error"))
        if lost:
            parts.append((f"   {lost} unreachable", "bold $error"))
        if refused:
            parts.append((f"   {refused} refused", "bold $error"))
        if self.invalids:
            parts.append((f"   {counted(len(self.invalids), 'context')} invalid", "bold $error"))
        self.query_one("#counters", Bar).put(Content.assemble(*parts))
        self.explain()

    def _row(self, key: str, summary: ClusterSummary | None) -> Mapping[str, Cell]:
        if summary is None:  # an invalid context
            url = Cell(without_user(self.invalids[key].url), "grid--muted")
            return {"name": Cell(key, "grid--strong"), "worst": Cell("✗ INVALID", "grid--error"), "url": url}
        lost = summary.link.state is LinkState.LOST
        traits = ("PROD " if summary.profile.production else "") + ("RO" if summary.profile.read_only else "")
        return {
            "here": Cell("*" if summary.profile.label == self.here.label else "", "grid--accent"),
            "name": Cell(_name(summary.profile.label), "grid--error" if summary.profile.production else "grid--strong"),
            "traits": Cell(traits, "grid--error" if summary.profile.production else "grid--muted"),
            "worst": _worst(summary),
            "counts": _counts(summary),
            "last_seen": Cell(_last_seen(summary), "grid--error" if lost else "grid--muted"),
            "kind": Cell(summary.kind, "grid--muted"),
            "version": Cell(summary.version, "grid--muted"),
            "url": Cell(without_user(summary.profile.url), "grid--muted"),
        }

    def explain(self) -> None:
        """Details of the row under the cursor, or why the contexts were not read again."""
        if self._trouble:
            self.query_one("#explanation", Static).update(Content.assemble((visible(self._trouble), "$error")))
            return
        key = self.query_one(Grid).current or ""
        if key in self.invalids:
            self.query_one("#explanation", Static).update(self._invalid(key))
        summary = self.summaries.get(key)
        if summary is None:
            return
        parts: list[str | tuple[str, str]] = [(visible(without_user(summary.profile.url)), "bold")]
        known = [
            f"{summary.kind} {summary.version}".strip(),
            summary.cluster_id and f"Kafka cluster {summary.cluster_id}",
        ]
        parts += [(f"  {visible(text)}", "$text-muted") for text in known if text]
        parts.append("\n")
        if summary.link.state is LinkState.LOST:
            parts.append((visible(summary.link.text(time.monotonic())), "$error"))
        else:
            words = ", ".join(f"{count:,} {state.lower()}" for state, count in summary.counts.items())
            parts.append(visible(words or ("no connectors" if summary.link.heard_at else "connecting…")))
        self.query_one("#explanation", Static).update(Content.assemble(*parts))

    def _invalid(self, name: str) -> Content:
        """The reason why a context cannot be used."""
        url, why = visible(without_user(self.invalids[name].url)), visible(self.invalids[name].reason)
        advice = "fix it in the file, or replace it with :config set-context"
        return Content.assemble((url, "bold"), "\n", (why, "$error"), "\n", (advice, "$text-muted"))

    def moved(self) -> None:
        self._trouble = ""
        self.explain()

    def opened(self, key: str) -> None:
        if key in self.profiles:
            self.dismiss(self.profiles[key])

    def action_failure(self, step: int) -> None:
        grid = self.query_one(Grid)
        failed = [key for key in grid.keys if key in self.profiles and self.summaries[key].counts.get("FAILED")]
        if failed:
            after = [key for key in failed if key > (grid.current or "")]
            grid.go((after or failed)[0])

    def action_refresh(self) -> None:
        """Reads the contexts again, and asks all clusters."""
        self._read_contexts()
        before, self.overview = self.overview.summaries, self._new_overview()
        for label, summary in self.overview.summaries.items():
            if label in before and before[label].profile == summary.profile:
                self.overview.summaries[label] = before[label]
        self.draw()
        self.run_worker(self.overview.run(), group="overview", exclusive=True, exit_on_error=False)

    def _read_contexts(self) -> None:
        if self._read is None:
            return
        try:
            profiles, self.invalids = self._read()
        except HeadraceError as error:
            self._trouble = error_line(error)
        else:
            self._trouble = ""
            self.profiles = {profile.label: profile for profile in profiles}


def _distinct(summaries: Sequence[ClusterSummary]) -> list[ClusterSummary]:
    """One for each cluster, which may have several contexts."""
    distinct: list[ClusterSummary] = []
    for summary in summaries:
        if not any(summary.profile.is_same_cluster(other.profile) for other in distinct):
            distinct.append(summary)
    return distinct


def _name(label: str) -> str:
    """The name of the context, or the URL without its scheme."""
    return label.removeprefix("http://")


def _worst(summary: ClusterSummary) -> Cell:
    if summary.link.state is LinkState.LOST:
        return Cell("✗ REFUSED" if summary.link.is_refused else "✗ UNREACHABLE", "grid--error")
    if summary.link.heard_at is None:
        return Cell("○ connecting…", "grid--muted")
    if not summary.worst:
        return Cell("– none", "grid--muted")
    return Cell(states.word(summary.worst), states.style_class(summary.worst))


def _counts(summary: ClusterSummary) -> Cell:
    """For example `✗ 2  ● 31  ■ 1`."""
    if not summary.counts:
        return Cell("")
    cell = in_glyphs(summary.counts)
    return Cell(cell.text, "grid--muted") if summary.link.state is LinkState.LOST else cell


def _last_seen(summary: ClusterSummary) -> str:
    return "" if summary.link.heard_at is None else f"{format_duration(time.monotonic() - summary.link.heard_at)} ago"
