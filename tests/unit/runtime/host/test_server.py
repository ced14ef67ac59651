"""The frames that the plugin host sends."""

from __future__ import annotations

import io

from runtime.host.server import Replies
from runtime.system import frames
from tests.support.interrupted import runs_inside


def test_a_line_that_the_collector_logs_meanwhile_is_sent_between_two_frames() -> None:
    stream = io.BytesIO()
    replies = Replies(stream)
    assert runs_inside(lambda: replies.send({"event": "log"}), Replies.send, lambda: replies.send({"id": 1}))
    sent = list(frames.read_all(io.BytesIO(stream.getvalue())))
    assert {"id": 1} in sent and sent.count({"event": "log"}) == len(sent) - 1 > 1


def test_a_line_inside_a_frame_waits_for_its_end() -> None:
    class Interrupted(io.BytesIO):
        def write(self, data: object) -> int:
            if not self.getvalue():
                replies.send({"event": "log"})
            return super().write(data)  # type: ignore[arg-type]  # bytes

    stream = Interrupted()
    replies = Replies(stream)
    replies.send({"id": 1})
    assert list(frames.read_all(io.BytesIO(stream.getvalue()))) == [{"id": 1}, {"event": "log"}]
