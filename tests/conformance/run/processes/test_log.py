"""The log of a server: its lines and ours in one file, read from the last start on."""

import os
from pathlib import Path

import pytest

from wireproof.conformance.run.processes.log import LOOKED_AT, Log


@pytest.fixture(params=["path", "nowhere"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    return Log(tmp_path / "target.log" if request.param == "path" else None)


def printed(log: Log, text: str) -> None:
    os.write(log.fileno(), text.encode())


def test_only_what_came_since_the_last_start_is_read(log: Log) -> None:
    log.begin("start 1")
    printed(log, "listening one\nold\n")
    log.begin("start 2")
    assert log.ready_address() is None
    printed(log, "banner\nlistening two\n\n  \nnew\n")

    assert log.ready_address() == "two"
    assert log.last_lines(2) == ["listening two", "new"]
    log.close()


def test_listeners_beside_are_reported_by_name(log: Log) -> None:
    log.begin("start 1")
    printed(log, "listening old unix:///gone\n")
    log.begin("start 2")
    printed(log, "listening tcp://127.0.0.1:1\nlistening hook unix:///tmp/hook\nlistening more unix:///not/who")

    assert log.ready_address() == "tcp://127.0.0.1:1"
    assert log.listeners() == {"hook": "unix:///tmp/hook"}
    log.close()


def test_the_end_of_a_long_log_is_read(log: Log) -> None:
    log.begin("start 1")
    printed(log, "x" * LOOKED_AT + "\nlast\n" + "y" * 1000 + "\n")

    assert log.last_lines(2) == ["last", "y" * 500]
    log.close()


def test_a_report_with_long_frames_is_read_from_its_beginning(log: Log) -> None:
    message = "==7==ERROR: AddressSanitizer: heap-use-after-free on 0x1"
    frame = "    #7 0x55a in void toy::send<{}>(toy::buffer<{}>&&) src/send.hpp:{}"
    log.begin("start 1")
    printed(log, "\n".join([message, *(frame.format("a, " * 400, "b<c> " * 200, at) for at in range(80))]) + "\n")
    lines = log.last_lines(400)

    assert lines[:2] == [message, "    #7 0x55a in void toy::send<…>(toy::buffer<…>&&) src/send.hpp:0"]
    assert len(lines) == 81
    log.close()


@pytest.mark.parametrize(
    "message", ["==7==ERROR: AddressSanitizer: heap-use-after-free on 0x1", "thread 'main' panicked at x"]
)
def test_the_line_that_names_a_cause_of_death_is_not_lost_before_many_others(log: Log, message: str) -> None:
    log.begin("start 1")
    printed(log, f"fine\n{message}\n" + "redzone\n" * 50 + "ABORTING\n")

    assert log.last_lines(3) == [message, "redzone", "ABORTING"]
    assert log.last_lines(60)[:2] == ["fine", message]
    log.close()


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Log(tmp_path / "none" / "target.log")
