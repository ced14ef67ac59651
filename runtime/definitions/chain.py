"""The transformations and predicates a connector's configuration names."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config import ConfigDef, ConfigKey, Type, Width
from runtime.api.values import invalid
from runtime.definitions.converters import Suggest
from runtime.definitions.findings import Findings
from runtime.plugins import Kind, Registry

_STEPS = (("transforms", "Transformation", Kind.TRANSFORMATION), ("predicates", "Predicate", Kind.PREDICATE))


def check_chain(config: Mapping[str, str | None], registry: Registry, findings: Findings) -> None:
    """Each alias needs a class that is there. This version has none yet, so that each is refused by name."""
    for name, label, kind in _STEPS:
        aliases = findings.values[name].value or []
        for alias in dict.fromkeys(aliases):
            keys = _keys(name, alias, label, tuple(p.cls for p in registry.of_kind(kind)))
            findings.check(keys, config)
            _check_class(f"{name}.{alias}.type", kind, config, registry, findings)


def _keys(name: str, alias: str, label: str, candidates: tuple[str, ...]) -> ConfigDef:
    group, prefix = f"{name.capitalize()}: {alias}", f"{name}.{alias}"
    lower = label.lower()
    return ConfigDef(
        ConfigKey(
            f"{prefix}.type", Type.CLASS, doc=f"Class of the {lower} {alias}.", group=group, order_in_group=0,
            width=Width.LONG, display_name=f"{label} type for {alias}", recommender=Suggest(candidates),
        ),
        ConfigKey(
            f"{prefix}.plugin.version", Type.STRING, None, doc=f"Which version of the {lower} {alias} is accepted.",
            group=group, order_in_group=1, width=Width.LONG, display_name=f"{label} version for {alias}",
        ),
    )  # fmt: skip


def _check_class(
    name: str, kind: Kind, config: Mapping[str, str | None], registry: Registry, findings: Findings
) -> None:
    text = config.get(name)
    if text is None or registry.find(text.strip(), (kind,)) is not None:
        return
    findings.values[name].value = None
    reason = f"Class {text} could not be found. This version has no {kind.value}s yet"
    findings.error(name, str(invalid(name, text, reason)))
