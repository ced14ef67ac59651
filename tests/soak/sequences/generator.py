"""Sequences of operations from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from tests.contract.parity.names import JSON, SINK, SOURCE, TRANSFORMS
from tests.soak.sequences import configs
from tests.soak.sequences.offsets import offsets_body
from tests.soak.sequences.operation import ID, Operation, connector, request

ODD_NAMES = (
    "a b", "grün-日本", "a+b", "a/b", "100%", "😀", "x" * 600, "a?b#c", "a\"b'c", "..", "{x}", "a\\b",
    "a&b=c", "[a]|^`", "a,b", "a\u00a0b", "u\u0308", "%", "a:b@c",
)  # fmt: skip
_UNREADABLE = ("/", "%", "\\")
"""Apache's worker creates connectors with these characters in their names, and refuses them in paths."""
_REFUSED_NAMES: tuple[Any, ...] = ("", " ", None, 5, {}, [], f"{ID}-x\u0007y", "\n")
_STATES: tuple[Any, ...] = (
    "RUNNING", "STOPPED", "STOPPED", "PAUSED", "PAUSED", "stopped", "Running", None, "", "ASLEEP", 3, " STOPPED",
    "STARTED", {}, True,
)  # fmt: skip
_BOOLEANS = ("true", "true", "false", "TRUE", "True", "tRue", "1", "yes", "", "maybe", " true", "true ")
_VERBS = ("pause", "resume", "stop")
_RESOURCES = ("", "/config", "/status", "/tasks", "/topics", "/offsets", "/tasks/0/status")
# not the levels of the root loggers, which setting them would not change
_LEVELS: tuple[Any, ...] = (
    "DEBUG", "debug", "WARN", "Trace", "FATAL", "LOUD", "", " debug", None, 5, True, {}, "WARNING", "ALL",
)  # fmt: skip
_PLUGINS = ("FileStreamSource", "FileStreamSink", SOURCE, SINK, "Nope", "", "filestreamsource", "JsonConverter")
_BODIES = ("", "{", "[]", "null", '"x"', "5", '{"a":1}', '{"a":{}}', '{"a":[1]}', "{}", '{"a":null}', '{"a":"b",}')


class Generator:
    """Random operations, which mostly concern connectors that the sequence has created."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._names = ["a", "b", "c", self._rng.choice(ODD_NAMES)]
        self._bursts = self._rng.choice((0.0, 0.0, 0.15))  # after a burst, records are not compared any more
        self._kinds: dict[str, str] = {}  # of created connectors
        self._lines = 0
        self._weighted: dict[Callable[[], Operation], int] = {
            self._create: 14, self._create_refused: 4, self._put_config: 8, self._patch_config: 10, self._delete: 4,
            self._change_state: 20, self._restart: 8, self._restart_task: 5, self._alter: 14, self._reset: 4,
            self._topics: 5, self._read: 6, self._validate: 5, self._plugin: 2, self._logger: 4, self._list: 3,
            self._odd_request: 6, self._append: 6, self._produce: 6, self._stop: 6,
        }  # fmt: skip

    def sequence(self, length: int) -> list[Operation]:
        operations = [self._append(), self._produce(), self._create(), self._create()]
        methods, weights = list(self._weighted), list(self._weighted.values())
        while len(operations) < length:
            if self._rng.random() < self._bursts:
                operations += self._burst()
            else:
                operations.append(self._rng.choices(methods, weights)[0]())
        return operations

    def _burst(self) -> list[Operation]:
        """Changes that follow each other at once."""
        methods = (self._change_state, self._change_state, self._restart, self._put_config, self._delete, self._create)
        operations = [method() for method in self._rng.choices(methods, k=self._rng.choice((2, 3, 4, 6)))]
        return [*(replace(operation, hasty=True) for operation in operations[:-1]), operations[-1]]

    def _name(self) -> str:
        """Usually of a connector that exists."""
        known = self._kinds if self._kinds and self._rng.random() < 0.9 else (*self._names, "none")
        readable = [name for name in known if not any(part in name for part in _UNREADABLE)]
        return self._rng.choice(readable or ["none"])

    def _config(self, name: str) -> configs.Config:
        """A valid configuration, usually of the kind that the connector has."""
        kind = self._kinds.get(name)
        if kind is None or self._rng.random() < 0.1:
            kind = self._rng.choice(("source", "sink"))
            if name in self._kinds:
                self._kinds[name] = kind
        number = (*self._names, name).index(name)
        return configs.source(self._rng) if kind == "source" else configs.sink(self._rng, number)

    def _create(self) -> Operation:
        free = [name for name in self._names if name not in self._kinds]
        name = self._rng.choice(free) if free and self._rng.random() < 0.85 else self._rng.choice(self._names)
        config = self._config(name)
        self._kinds.setdefault(name, "source" if "topic" in config else "sink")
        body = {"name": f"{ID}-{name}", "config": config}
        if self._rng.random() < 0.5:
            body["initial_state"] = self._rng.choice(_STATES)
        return request("create", "POST", "/connectors", body)

    def _create_refused(self) -> Operation:
        name: Any = f"{ID}-{self._rng.choice(self._names)}"
        body: dict[str, Any] = {"name": name, "config": configs.wrong(self._rng, configs.source(self._rng, 0))}
        match self._rng.randrange(6):
            case 0:
                body["name"] = self._rng.choice(_REFUSED_NAMES)
            case 1:
                body["config"] = self._rng.choice((None, {}, [], "x", 5))
            case 2:
                body.pop(self._rng.choice(("name", "config")))
            case 3:
                body["more"] = 1
            case 4:
                return Operation("create: body", "POST", "/connectors", self._rng.choice(_BODIES))
        return request("create: refused", "POST", "/connectors", body)

    def _put_config(self) -> Operation:
        name = self._name()
        config = self._config(name)
        label = "put config"
        if self._rng.random() < 0.35:
            config, label = configs.wrong(self._rng, config), "put config: wrong"
        elif name in self._names:
            self._kinds.setdefault(name, "source" if "topic" in config else "sink")
        if self._rng.random() < 0.08:
            return Operation("put config: body", "PUT", connector(name, "/config"), self._rng.choice(_BODIES))
        if self._rng.random() < 0.3:
            config = {**config, "name": f"{ID}-{self._rng.choice((name, name, 'other'))}"}
        return request(label, "PUT", connector(name, "/config"), config)

    def _patch_config(self) -> Operation:
        path = connector(self._name(), "/config")
        if self._rng.random() < 0.1:
            return Operation("patch config: body", "PATCH", path, self._rng.choice(_BODIES))
        return request("patch config", "PATCH", path, configs.patch(self._rng))

    def _delete(self) -> Operation:
        name = self._name()
        self._kinds.pop(name, None)
        return request("delete", "DELETE", connector(name))

    def _change_state(self) -> Operation:
        return request("state", "PUT", connector(self._name(), f"/{self._rng.choice(_VERBS)}"))

    def _stop(self) -> Operation:
        return request("state", "PUT", connector(self._name(), "/stop"))

    def _restart(self) -> Operation:
        names = ("includeTasks", "onlyFailed", "includeTasks", "onlyFailed", "includetasks", "forward", "x")
        given = [(self._rng.choice(names), self._rng.choice(_BOOLEANS)) for _ in range(self._rng.choice((0, 1, 2, 2)))]
        query = "&".join(f"{name}={quote(value)}" for name, value in given)
        return request("restart", "POST", connector(self._name(), "/restart") + (f"?{query}" if query else ""))

    def _restart_task(self) -> Operation:
        task = self._rng.choice(("0", "0", "0", "1", "2", "7", "-1", "x", "00", "2147483648", ""))
        return request("restart task", "POST", connector(self._name(), f"/tasks/{task}/restart"))

    def _alter(self) -> Operation:
        name = self._name()
        body = offsets_body(self._rng, self._kinds.get(name, "source"))
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        return Operation("alter offsets", "PATCH", connector(name, "/offsets"), text)

    def _reset(self) -> Operation:
        return request("reset offsets", "DELETE", connector(self._name(), "/offsets"))

    def _topics(self) -> Operation:
        if self._rng.random() < 0.4:
            return request("topics", "GET", connector(self._name(), "/topics"))
        return request("reset topics", "PUT", connector(self._name(), "/topics/reset"))

    def _read(self) -> Operation:
        return request("read", "GET", connector(self._name(), self._rng.choice(_RESOURCES)))

    def _validate(self) -> Operation:
        plugin = self._rng.choice(_PLUGINS[:4]) if self._rng.random() < 0.8 else self._rng.choice(_PLUGINS)
        path = f"/connector-plugins/{plugin}/config/validate"
        if self._rng.random() < 0.1:
            return Operation("validate: body", "PUT", path, self._rng.choice(_BODIES))
        is_source = "Sink" not in plugin
        config = configs.source(self._rng, 0) if is_source else configs.sink(self._rng, 0, 0)
        if self._rng.random() < 0.8:
            config = configs.wrong(self._rng, config)
        if self._rng.random() < 0.3:
            config = configs.wrong(self._rng, config)
        return request("validate", "PUT", path, config)

    def _plugin(self) -> Operation:
        transforms = [TRANSFORMS + name for name in ("Cast$Key", "RegexRouter")]
        plugin = quote(self._rng.choice((*_PLUGINS, *transforms, JSON, "Filter")))
        query = self._rng.choice(("", "", "", "?version=4.3.0", "?version=9", "?version=", "?version=latest", "?v=1"))
        return request("plugin", "GET", f"/connector-plugins/{plugin}/config{query}")

    def _logger(self) -> Operation:
        logger = f"/admin/loggers/parity.{ID}" + self._rng.choice(("", ".child", ".child.x", ".other"))
        if self._rng.random() < 0.3:
            return request("loggers", "GET", self._rng.choice((logger, "/admin/loggers")))
        scopes = ("", "", "", "?scope=worker", "?scope=cluster", "?scope=CLUSTER", "?scope=x", "?scope=")
        body = {"level": self._rng.choice(_LEVELS)} if self._rng.random() < 0.9 else {}
        return request("logger", "PUT", logger + self._rng.choice(scopes), body)

    def _list(self) -> Operation:
        queries = (
            "", "/", "?expand=status", "?expand=info&expand=status", "?expand=info,status", "?expand=", "?expand=x",
            "?Expand=status", "?expand=status&expand=status", "?expand=INFO", "?x=1", "?expand",
        )  # fmt: skip
        return request("list", "GET", "/connectors" + self._rng.choice(queries))

    def _odd_request(self) -> Operation:
        resources = (*_RESOURCES, "/pause", "/stop", "/restart", "/topics/reset", "/tasks/0/restart", "/nope", "/fence")
        path = self._rng.choice((
            connector(self._name(), self._rng.choice(resources) + self._rng.choice(("", "", "/", "?x=1"))),
            "/connectors", "/", "/health", "/admin/loggers", "/connector-plugins/FileStreamSource/config",
            "/connector-plugins/FileStreamSource/config/validate", "/Connectors", "/connectors/a/b/c/d", "/nope",
        ))  # fmt: skip
        method = self._rng.choice(("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"))
        body = None if method in ("GET", "HEAD", "OPTIONS") else self._rng.choice((None, *_BODIES))
        headers = self._rng.choice((
            (), (), (("Content-Type", "text/plain"),), (("Content-Type", "application/json; charset=utf-8"),),
            (("Accept", "text/plain"),), (("Accept", "*/*"),), (("Content-Type", "application/*"),),
            (("Content-Type", "application/xml"),), (("Accept", "application/*;q=0.1"),),
        ))  # fmt: skip
        return Operation("odd request", method, path, body, headers)

    def _append(self) -> Operation:
        self._lines += 1
        return Operation("append", "APPEND", f"{self._rng.choice(configs.FILES)}.txt", f"line {self._lines}\n")

    def _produce(self) -> Operation:
        self._lines += 1
        topic = self._rng.choice(("t0-0", "t0-0", "t1-0", "t1-1", "bad-0"))
        value = self._rng.choice((f'"{self._lines}"', f'{{"n":{self._lines}}}'))
        return Operation("produce", "PRODUCE", topic, "{not JSON" if topic == "bad-0" else value)
