"""All clusters in one view: the state of every context and its age; Enter opens the cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from tui import session
from tui.client.client import Connect
from tui.cluster.cluster_overview import ClusterOverview, ClusterSummary, Dial
from tui.cluster.snapshot import LinkState
from tui.contexts.profiles import InvalidContext, Profile
from tui.formatting import counted, span
from tui.screens.clusters.worker_rows import in_glyphs
from tui.scrubbing import without_user
from tui.widgets import states
from tui.widgets.bars import Bar, KeyBar
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

COLUMNS = (
    Column("here", "", 1),
    Column("name", "CLUSTER", 20, grows=True),
    Column("traits", "", 7),
    Column("worst", "WORST", 13),
    Column("counts", "CONNECTORS", 18, grows=True),
    Column("heard", "ANSWERED", 9, right=True),
    Column("kind", "WORKER", 8, rank=1),
    Column("version", "VERSION", 9, rank=2),
    Column("url", "URL", 24, rank=3, grows=True),
)


def connect_to(profile: Profile) -> Connect:
    return session.connect(profile, session.evented(profile))


class ClustersScreen(Screen[Profile | None]):
    """Answers with the cluster to open. The main screen reports the state of its own cluster through `tell`."""

    DEFAULT_CSS = """
    ClustersScreen { background: $background; color: $foreground; }
    ClustersScreen #title { background: $surface; padding: 0 1; }
    ClustersScreen #counters { padding: 0 1; }
    ClustersScreen Grid { height: 1fr; }
    ClustersScreen #about { height: auto; min-height: 2; max-height: 5; padding: 0 1; border-top: solid $border; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", priority=True),
        Binding("n", "failure(1)", "next with failures", show=False),
        Binding("escape,q,C,ctrl+c", "close", "close", key_display="esc"),
        Binding("f5,ctrl+l", "refresh", "refresh"),
    ]

    def __init__(
        self,
        profiles: Sequence[Profile],
        here: Profile,
        wrong: Mapping[str, InvalidContext],
        dial: Dial = connect_to,
    ) -> None:
        super().__init__()
        self.here, self.wrong, self._dial = here, wrong, dial
        self.profiles = {profile.label: profile for profile in profiles}
        self.current: ClusterSummary = ClusterSummary(here)  # updated by the main screen
        self.overview = self._new_overview()

    def _new_overview(self) -> ClusterOverview:
        others = [profile for profile in self.profiles.values() if profile.label != self.here.label]
        return ClusterOverview(others, self._dial, lambda summary: self.draw())

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        yield Bar(id="counters")
        yield Grid(COLUMNS)
        yield Static(id="about", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one("#title", Bar).put(Content.assemble(("headrace", "bold $accent"), "  clusters"))
        self.query_one(Grid).focus()
        self.run_worker(self.overview.run(), group="overview", exclusive=True, exit_on_error=False)
        self.set_interval(1.0, self.draw)
        self.draw()
        self.query_one(Grid).go(self.here.label)

    def tell(self, summary: ClusterSummary) -> None:
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
        keys = sorted([*self.profiles, *self.wrong])
        widest = {
            "name": max(len(_name(key)) for key in keys),
            "counts": max((len(_counts(one).text) for one in summaries.values()), default=0),
            "url": max((len(without_user(one.profile.url)) for one in summaries.values()), default=0),
        }
        self.query_one(Grid).show(keys, lambda key: self._row(key, summaries.get(key)), widest)
        total = sum(one.total for one in summaries.values())
        failed = sum(one.counts.get("FAILED", 0) for one in summaries.values())
        lost = sum(one.link.state is LinkState.LOST for one in summaries.values())
        clusters = counted(len(self.profiles), "cluster")
        parts: list[str | tuple[str, str]] = [f"{clusters}, {counted(total, 'connector')}"]
        if failed:
            parts.append((f"   {states.glyph('FAILED')} {failed:,} failed", "bold $error"))
        if lost:
            parts.append((f"   {lost} unreachable", "bold $error"))
        if self.wrong:
            parts.append((f"   {counted(len(self.wrong), 'context')} invalid", "bold $error"))
        self.query_one("#counters", Bar).put(Content.assemble(*parts))
        self.about()

    def _row(self, key: str, one: ClusterSummary | None) -> Mapping[str, Cell]:
        if one is None:  # an invalid context
            url = Cell(without_user(self.wrong[key].url), "grid--muted")
            return {"name": Cell(key, "grid--strong"), "worst": Cell("✗ INVALID", "grid--error"), "url": url}
        lost = one.link.state is LinkState.LOST
        traits = ("PROD " if one.profile.production else "") + ("RO" if one.profile.read_only else "")
        return {
            "here": Cell("*" if one.profile.label == self.here.label else "", "grid--accent"),
            "name": Cell(_name(one.profile.label), "grid--error" if one.profile.production else "grid--strong"),
            "traits": Cell(traits, "grid--error" if one.profile.production else "grid--muted"),
            "worst": _worst(one),
            "counts": _counts(one),
            "heard": Cell(_heard(one), "grid--error" if lost else "grid--muted"),
            "kind": Cell(one.kind, "grid--muted"),
            "version": Cell(one.version, "grid--muted"),
            "url": Cell(without_user(one.profile.url), "grid--muted"),
        }

    def about(self) -> None:
        """Details of the row under the cursor."""
        key = self.query_one(Grid).current or ""
        if key in self.wrong:
            self.query_one("#about", Static).update(self._invalid(key))
        one = self.summaries.get(key)
        if one is None:
            return
        parts: list[str | tuple[str, str]] = [(visible(without_user(one.profile.url)), "bold")]
        known = [f"{one.kind} {one.version}".strip(), one.cluster_id and f"Kafka cluster {one.cluster_id}"]
        parts += [(f"  {visible(text)}", "$text-muted") for text in known if text]
        parts.append("\n")
        if one.link.state is LinkState.LOST:
            parts.append((visible(one.link.text(time.time())), "$error"))
        else:
            words = ", ".join(f"{count:,} {state.lower()}" for state, count in one.counts.items())
            parts.append(visible(words or ("no connectors" if one.link.heard_at else "asking…")))
        self.query_one("#about", Static).update(Content.assemble(*parts))

    def _invalid(self, name: str) -> Content:
        """The reason why a context cannot be used."""
        url, why = visible(without_user(self.wrong[name].url)), visible(self.wrong[name].reason)
        advice = "fix it in the file, or replace it with :config set-context"
        return Content.assemble((url, "bold"), "\n", (why, "$error"), "\n", (advice, "$text-muted"))

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self.about()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        if event.key in self.profiles:
            self.dismiss(self.profiles[event.key])

    def action_open(self) -> None:
        self.query_one(Grid).action_open()

    def action_failure(self, step: int) -> None:
        grid = self.query_one(Grid)
        failed = [key for key in grid.keys if key in self.profiles and self.summaries[key].counts.get("FAILED")]
        if failed:
            after = [key for key in failed if key > (grid.current or "")]
            grid.go((after or failed)[0])

    def action_refresh(self) -> None:
        overview, self.overview = self.overview, self._new_overview()
        self.overview.summaries.update(overview.summaries)
        self.run_worker(self.overview.run(), group="overview", exclusive=True, exit_on_error=False)

    def action_close(self) -> None:
        self.dismiss(None)


def _name(label: str) -> str:
    """The name of the context, or the URL without its scheme."""
    return label.removeprefix("http://")


def _worst(one: ClusterSummary) -> Cell:
    if one.link.state is LinkState.LOST:
        return Cell("✗ NO ANSWER", "grid--error")
    if one.link.heard_at is None:
        return Cell("○ asking…", "grid--muted")
    if not one.worst:
        return Cell("– none", "grid--muted")
    return Cell(states.word(one.worst), states.style_class(one.worst))


def _counts(one: ClusterSummary) -> Cell:
    """For example `✗ 2  ● 31  ■ 1`."""
    if not one.counts:
        return Cell("")
    found = in_glyphs(one.counts)
    return Cell(found.text, "grid--muted") if one.link.state is LinkState.LOST else found


def _heard(one: ClusterSummary) -> str:
    return "" if one.link.heard_at is None else f"{span(time.time() - one.link.heard_at)} ago"
