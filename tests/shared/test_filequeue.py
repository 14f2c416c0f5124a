"""The file broker: what a crash or a full disk left in pieces is passed over, and stops nobody."""

from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Exchange, Queue


@pytest.fixture
def channel(tmp_path: Path) -> Any:
    folder = str(tmp_path / "queue")
    options = {"data_folder_in": folder, "data_folder_out": folder, "control_folder": str(tmp_path / "control")}
    (tmp_path / "queue").mkdir()
    with Connection("lhdrfile://localhost", transport_options=options) as connection, connection.channel() as channel:
        yield channel


def send(channel: Any, name: str, body: str) -> Queue:
    queue = Queue(name, Exchange(name), name)  # kombu remembers for the process which queues were declared
    producer = channel.connection.client.Producer(channel, exchange=queue.exchange, routing_key=name)
    producer.publish(body, declare=[queue])
    return queue


@pytest.mark.parametrize("left", [b"", b'{"body": "W1', b"\xff\xfe\x00", b"[]"])
def test_message_in_pieces_is_passed_over_and_the_next_one_comes(channel: Any, tmp_path: Path, left: bytes) -> None:
    queue = send(channel, tmp_path.name, "first")
    [broken] = (tmp_path / "queue").glob("*.msg")
    broken.write_bytes(left)
    send(channel, tmp_path.name, "second")
    got: list[str] = []
    with Consumer(channel, [queue], callbacks=[lambda body, message: (got.append(body), message.ack())]):
        channel.connection.client.drain_events(timeout=2)
    assert got == ["second"]
    assert list((tmp_path / "queue").iterdir()) == []


def test_message_that_cannot_be_written_leaves_nothing_behind(
    channel: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*paths: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lhdr_site.shared.filequeue.os.rename", full)
    with pytest.raises(OSError, match="No space"):
        send(channel, tmp_path.name, "first")
    assert list((tmp_path / "queue").iterdir()) == []
