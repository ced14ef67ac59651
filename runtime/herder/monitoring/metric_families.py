"""Metrics in Prometheus' text format 0.0.4: samples grouped by family, each family with its help text and type."""

from __future__ import annotations

from collections.abc import Mapping

Labels = Mapping[str, object]

PREFIX = "kafka_connect_"
"""Prefix of Apache's metrics, as a JMX exporter names them; Headrace's own metrics start with `headrace_`."""


class MetricFamilies:
    """Collects samples, in any order."""

    def __init__(self) -> None:
        self._heads: dict[str, str] = {}
        self._samples: dict[str, list[str]] = {}

    def gauge(self, name: str, labels: Labels, value: float | None, help_text: str) -> None:
        """Add a value that rises and falls; None adds nothing."""
        self._add(name, "gauge", labels, value, help_text)

    def counter(self, name: str, labels: Labels, value: float | None, help_text: str) -> None:
        """Add a value that only rises until the worker ends; None adds nothing."""
        self._add(name, "counter", labels, value, help_text)

    def text(self) -> str:
        """All families, in the order of their first samples."""
        return "".join(self._heads[name] + "".join(self._samples[name]) for name in self._heads)

    def _add(self, short: str, kind: str, labels: Labels, value: float | None, help_text: str) -> None:
        if value is None:
            return
        name = short if short.startswith("headrace_") else PREFIX + short
        if name not in self._heads:
            self._heads[name] = f"# HELP {name} {_help(help_text)}\n# TYPE {name} {kind}\n"
            self._samples[name] = []
        inner = ",".join(f'{key}="{_escaped(str(text))}"' for key, text in labels.items())
        self._samples[name].append(f"{name}{{{inner}}} {_number(value)}\n" if inner else f"{name} {_number(value)}\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def _help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
