"""One check of all connectors by some rules, with the results and exit codes of Nagios' plugins."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from tui.formatting import counted, one_line
from tui.watch.conditions import Observation
from tui.watch.rules import CRITICAL, Rule

MAX_NAMED = 5  # findings in the first line


class Level(IntEnum):
    """The result of a check; the value is the exit code."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


_ORDER = (Level.CRITICAL, Level.WARNING, Level.UNKNOWN)  # the worst first


class Finding(NamedTuple):
    """A condition that a connector meets, or that is unknown (`connector` is empty: for several)."""

    level: Level
    connector: str
    text: str


class Report(NamedTuple):
    """The findings about a number of connectors, the worst first."""

    connectors: int
    findings: tuple[Finding, ...] = ()

    @property
    def level(self) -> Level:
        """The worst level of all findings."""
        return next((level for level in _ORDER if any(finding.level is level for finding in self.findings)), Level.OK)

    @property
    def text(self) -> str:
        """The summary with performance data, and a line for each finding."""
        words = [_words(finding) for finding in self.findings]
        shown = "; ".join(words[:MAX_NAMED])
        more = f"; and {len(words) - MAX_NAMED} more" if len(words) > MAX_NAMED else ""
        number = counted(self.connectors, "connector")
        head = f"HEADRACE {self.level.name} - {shown}{more}" if words else f"HEADRACE OK - {number}"
        lines = [f"{finding.level.name}: {words[at]}" for at, finding in enumerate(self.findings)]
        return "\n".join([f"{head} | {self._performance}", *(lines if len(lines) > 1 else [])])

    def as_json(self) -> object:
        """`{"status", "connectors", "findings": [{"level", "connector", "text"}]}`."""
        findings = [{"level": f.level.name, "connector": f.connector, "text": f.text} for f in self.findings]
        return {"status": self.level.name, "connectors": self.connectors, "findings": findings}

    @property
    def _performance(self) -> str:
        critical, warning = (sum(finding.level is level for finding in self.findings) for level in _ORDER[:2])
        return f"connectors={self.connectors} critical={critical} warning={warning}"


def check(rules: Sequence[Rule], seen: Sequence[Observation], now: float, with_unknown: bool = True) -> Report:
    """Verifies the rules, without regard to how long a condition has lasted. `now` in seconds since 1970.
    `with_unknown`: conditions that the cluster does not report are findings, too."""
    findings = []
    for rule in rules:
        level = Level.CRITICAL if rule.severity == CRITICAL else Level.WARNING
        unknown: dict[str, list[str]] = {}  # connectors by the error, if there was one
        for observation in seen:
            if not rule.covers(observation.connector.name):
                continue
            verified = rule.when.verify(observation, now)
            if verified.holds:
                findings.append(Finding(level, observation.connector.name, verified.text))
            elif verified.holds is None:
                unknown.setdefault(verified.text, []).append(observation.connector.name)
        if with_unknown:
            texts = [unknown_text(rule.when.subject, names, error) for error, names in unknown.items()]
            findings += [Finding(Level.UNKNOWN, "", text) for text in texts]
    worst_first = sorted(dict.fromkeys(findings), key=lambda finding: (_ORDER.index(finding.level), finding.connector))
    return Report(len(seen), tuple(worst_first))


def unknown_text(subject: str, names: Sequence[str], error: str) -> str:
    """Says that a subject of these connectors is unknown, because of an error or since the cluster never reports it."""
    of = names[0] if len(names) == 1 else f"{len(names)} connectors"
    return f"{subject} of {of} is unknown: {error}" if error else f"{subject} of {of} is not reported by this cluster"


def _words(finding: Finding) -> str:
    """A bar would begin performance data."""
    return one_line(f"{finding.connector} {finding.text}").replace("|", "/")
