"""What runs side by side comes to an end, also where a worker does not."""

import os

import pytest

from wireproof.conformance.mutation import workers
from wireproof.conformance.mutation.workers import side_by_side


def _halved(number: int) -> int:
    if number == 13:
        os._exit(1)
    return number // 2


def test_each_task_has_its_result() -> None:
    many = range(14, 3000)

    assert dict(side_by_side(_halved, many, 2)) == {number: number // 2 for number in many}


def test_a_worker_that_dies_loses_its_task_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LONGEST", 1.0)

    assert dict(side_by_side(_halved, [12, 13, 14, 16], 2)) == {12: 6, 13: None, 14: 7, 16: 8}
