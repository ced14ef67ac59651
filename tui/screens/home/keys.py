"""The keys of the main screen, in the order in which the footer and the help show them, and its layout."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tui.screens.connector.pages import PAGES

BROAD = 140  # columns from which the list and the page are shown side by side

KEYS: list[BindingType] = [
    Binding("enter", "open", "open", id="open", show=False),
    Binding("escape", "back", "back", id="back", key_display="esc"),
    Binding("t", "trace", "trace", id="trace"),
    Binding("n", "failure(1)", "next failure", id="next-failure", show=False),
    Binding("N", "failure(-1)", "previous failure", id="previous-failure", show=False),
    Binding("F", "failures", "failures", id="failures", tooltip="all failed tasks by cause, and their restart"),
    Binding("slash", "filter", "filter", id="filter", key_display="/"),
    Binding("c", "create", "create", id="create", tooltip="choose a plugin and create a connector"),
    Binding("S", "sort", "sort", id="sort", tooltip="sort the list by lag, throughput, name, …", show=False),
    Binding("s", "act('stop')", "stop", id="stop"),
    Binding("p", "act('pause')", "pause", id="pause"),
    Binding("r", "act('resume')", "resume", id="resume"),
    Binding("R", "act('restart')", "restart", id="restart"),
    Binding("space", "mark", "mark", id="mark"),
    Binding("asterisk", "mark_all", "mark all shown", id="mark-all", key_display="*", show=False),
    Binding("b", "bulk", "bulk", id="bulk", tooltip="an action for the marked connectors, or for all shown"),
    Binding(
        "M",
        "again",
        "same targets again",
        id="again",
        tooltip="mark the targets of the last bulk action again",
        show=False,
    ),
    Binding("e", "edit", "edit offsets", id="edit"),
    Binding("u", "undo", "undo offsets", id="undo"),
    Binding("D", "act('delete')", "delete", id="delete"),
    Binding(
        "d",
        "dead_letters",
        "dead letters",
        id="dead-letters",
        tooltip="records that failed and were sent to the dead letter topic",
    ),
    Binding(
        "x",
        "failing_record",
        "failing record",
        id="failing-record",
        tooltip="the record with which this sink fails; x there skips it",
    ),
    Binding("T", "topics", "topics", id="topics", tooltip="topics of the Kafka cluster and their records", show=False),
    Binding("P", "plugins", "plugins", id="plugins", tooltip="plugins of the worker; c there creates a connector"),
    Binding("o", "log", "log", id="log", tooltip="operations of this session"),
    Binding("C", "clusters", "clusters", id="clusters"),
    Binding("W", "workers", "workers", id="workers", show=False, tooltip="workers of the cluster, and what they run"),
    Binding("L", "loggers", "loggers", id="loggers", show=False, tooltip="loggers of the worker, and their levels"),
    Binding(
        "equals_sign",
        "diff",
        "diff",
        id="diff",
        key_display="=",
        tooltip="compare this connector, the marked ones or all with another context",
        show=False,
    ),
    Binding(
        "greater_than_sign",
        "promote",
        "promote",
        id="promote",
        key_display=">",
        tooltip="create or update this connector, or the marked ones, in another context",
        show=False,
    ),
    Binding(
        "U", "deleted", "undo delete", id="undo-delete", tooltip="deleted connectors; R there restores one", show=False
    ),
    Binding("V", "views", "views", id="views", tooltip="saved filters and orders, each under a letter", show=False),
    Binding(
        "exclamation_mark",
        "own_commands",
        "own commands",
        id="own-commands",
        key_display="!",
        tooltip="your own commands for this connector, from config.toml",
        show=False,
    ),
    Binding("colon", "command", "command", id="command", key_display=":"),
    Binding("left,h", "turn(-1)", "previous page", id="page-before", show=False),
    Binding("right,l", "turn(1)", "next page", id="page-after", show=False),
    *(
        Binding(str(number), f"page('{page}')", page, id=f"page-{page}", show=False)
        for number, page in enumerate(PAGES, 1)
    ),
    Binding("tab,shift+tab", "switch", "list or page", id="switch", show=False),
    Binding("question_mark", "help", "help", id="help", key_display="?"),
    Binding("f5,ctrl+l", "refresh", "refresh", id="refresh", show=False),
    Binding("q", "quit", "quit", id="quit"),
    Binding("ctrl+c", "interrupt", "quit when pressed twice", id="interrupt", show=False),
]

LAYOUT = """
Home { background: $background; color: $foreground; }
Home #body { height: 1fr; }
Home ConnectorList { width: 1fr; }
Home ConnectorView { width: 1fr; display: none; }
Home.-detail ConnectorView { display: block; }
Home.-detail ConnectorList { display: none; }
Home.-detail Counters { display: none; }
Home.-broad.-detail ConnectorList { display: block; width: 57fr; max-width: 124; }
Home.-broad.-detail ConnectorView { width: 43fr; min-width: 84; border-left: solid $border; }
Home.-broad.-detail Counters { display: block; }
"""
