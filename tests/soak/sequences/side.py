"""A worker as one side of a sequence, and its state."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import quote

import httpx

from tests.contract.parity.normalization import sorted_json
from tests.contract.parity.recorder import Recorder, Step, Target
from tests.soak.sequences.configs import FILES
from tests.soak.sequences.operation import FOLDER, ID, Operation
from tests.support.kafka.topic_ends import latest_offsets
from tests.support.waiting import poll

PARTITIONS = {"t0": 1, "t1": 2, "s0": 1, "bad": 1}

State = dict[str, Any]


class Side(Recorder):
    """A worker with the topics and files of one sequence. No other connectors may exist."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, "sequence")
        self._reader = httpx.Client(base_url=target.url, timeout=60, trust_env=False)
        for short, partitions in PARTITIONS.items():
            topic = self.topic(short, partitions)
            if short != "bad":  # without records, it depends on rebalances whether an offset is committed
                for partition in range(partitions):
                    self.produce(topic, ['"first"'], partition)
        for file in FILES:
            self.write(f"{file}.txt", "one\ntwo\n")

    def perform(self, operation: Operation) -> Step | None:
        """Records a request and returns its step; writes other operations."""
        body = None if operation.body is None else self._own(operation.body)
        if operation.method == "APPEND":
            self.write(operation.path, body or "")
        elif operation.method == "PRODUCE":
            topic, partition = operation.path.split("-")
            self.produce(self.name(topic), [body], int(partition))
        else:
            self.request(
                operation.label, operation.method, self._own(operation.path), raw=body,
                headers=dict(operation.headers), project=self._in_order,
            )  # fmt: skip
            return self.steps[-1]
        return None

    def state(self) -> State:
        """What a client can see of all connectors, with the files of sinks and the ends of topics."""
        connectors = self._json("/connectors?expand=status&expand=info")
        if not isinstance(connectors, dict):
            return {"connectors": connectors}
        for name, connector in connectors.items():
            connector |= {part: self._in_order(body) for part, body in connector.items()}
            at = f"/connectors/{quote(name, safe='')}"
            connector |= {part: self._in_order(self._json(f"{at}/{part}")) for part in ("tasks", "topics", "offsets")}
        state: State = self.normalize({"connectors": connectors, "files": self._files(), "ends": self._ends()})
        return state

    def close(self) -> None:
        with suppress(httpx.HTTPError, ValueError):  # of a worker that has ended, which the sequence has reported
            for name in self.json("/connectors"):
                self._groups.add(f"connect-{name}")
                if self.send("DELETE", f"/connectors/{quote(name, safe='')}").status_code == 400:
                    # Apache's worker refuses the name in a path
                    records = [(f"connector-{name}", None), (f"target-state-{name}", None)]
                    self.produce(self.target.topics["config"], records)
            poll(lambda: self.json("/connectors"), lambda names: not names, self.target.wait)
        self._reader.close()
        super().close()

    def _own(self, text: str) -> str:
        return text.replace(ID, self.id).replace(FOLDER, str(self.folder))

    def _json(self, path: str) -> Any:
        """The body of a response; the status code of an error."""
        try:
            response = self._reader.get(path)
        except (httpx.RemoteProtocolError, httpx.ReadError):  # a kept-alive connection that the worker has closed
            response = self._reader.get(path)
        try:
            return response.json() if response.status_code == 200 else {"status code": response.status_code}
        except ValueError:
            return "<not JSON>"

    def _in_order(self, body: Any) -> Any:
        """The body with lists whose order is not specified in order."""
        match body:
            case [str(), *_]:
                return sorted(body)
            case {"tasks": list(tasks)}:
                return {**body, "tasks": sorted(tasks, key=sorted_json)}
            case {"offsets": list(entries)}:
                return {"offsets": sorted(entries, key=sorted_json)}
            case dict():
                return {name: self._topics_in_order(part) for name, part in body.items() if self._is_own(name)}
        return body

    def _is_own(self, key: str) -> bool:
        """False for loggers of earlier sequences, and for the root logger, which has the level of its library."""
        return key != "root" and (not key.startswith("parity.") or self.id in key)

    @staticmethod
    def _topics_in_order(part: Any) -> Any:
        match part:
            case {"topics": list(topics)}:
                return {"topics": sorted(topics)}
        return part

    def _files(self) -> dict[str, list[str]]:
        return {file.name: sorted(file.read_text("utf-8").splitlines()) for file in self.folder.glob("*.out")}

    def _ends(self) -> dict[str, int]:
        places = [(self.name(short), at) for short, partitions in PARTITIONS.items() for at in range(partitions)]
        ends = latest_offsets(self.kafka.admin, places, 10)
        return {f"{topic}-{at}": end for (topic, at), end in ends.items()}
