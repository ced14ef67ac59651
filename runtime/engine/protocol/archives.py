"""The files and folders of the worker's machine that a task needs elsewhere, and how a slot asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypedDict

from runtime.java.target import JavaTarget, is_java_target
from runtime.model.task_spec import TaskSpec


class FetchMessage(TypedDict):
    """From a slot, after the hello of an `archive` connection. Answered by an ArchiveMessage and its bytes."""

    op: Literal["fetch"]
    digest: str


class ArchiveMessage(TypedDict, total=False):
    """`size` in bytes; missing: the worker does not have the archive."""

    size: int


def paths(spec: TaskSpec) -> list[str]:
    """Everything that the task imports from the worker's `plugin.path`."""
    environment = spec.environment.folders if spec.environment is not None else ()
    java = [JavaTarget.parse(target).location for target in _targets(spec) if is_java_target(target)]
    return list(dict.fromkeys([*environment, *spec.plugin_path, *java]))


def with_paths(spec: TaskSpec, places: Mapping[str, str]) -> TaskSpec:
    """The specification with other paths, by the ones that it has."""

    def place(target: str) -> str:
        if not is_java_target(target):
            return target
        java = JavaTarget.parse(target)
        return str(JavaTarget(java.cls, places.get(java.location, java.location)))

    environment = spec.environment
    if environment is not None:
        folders = tuple(places.get(folder, folder) for folder in environment.folders)
        environment = replace(environment, folders=folders)
    return replace(
        spec,
        plugin_path=[places.get(folder, folder) for folder in spec.plugin_path],
        environment=environment,
        task_class=place(spec.task_class),
        targets={key: place(target) for key, target in spec.targets.items()},
    )


def _targets(spec: TaskSpec) -> list[str]:
    return [spec.task_class, *spec.targets.values()]
