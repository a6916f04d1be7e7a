"""Runs tasks side by side, in forked processes that share what their module holds.

A worker that dies takes its task along, and the pool would wait for the result without end: so the wait for the next
result has a deadline, and what is left then is lost.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from wireproof.conformance.mutation.play_bounds import begin_worker

__all__ = ["LOST", "side_by_side"]

Task = TypeVar("Task")
Result = TypeVar("Result")
LONGEST = 900.0
"""Seconds without any result after which those that are left are lost."""
LOST = "the process that ran it ended, or went on for longer than any mutant may"


def side_by_side(
    run: Callable[[Task], Result], tasks: Iterable[Task], jobs: int = 0, *, tasks_a_worker: int | None = None
) -> Iterator[tuple[Task, Result | None]]:
    """Yield each task with its result, as they come; None for what was lost.

    `jobs` 0 is one a core. A new worker takes the place of one that ran `tasks_a_worker`.
    """
    left = dict.fromkeys(tasks)
    processes = jobs or os.cpu_count() or 1
    with multiprocessing.get_context("fork").Pool(processes, begin_worker, maxtasksperchild=tasks_a_worker) as pool:
        results = pool.imap_unordered(partial(_named, run), list(left))
        while left:
            try:
                task, result = results.next(LONGEST)
            except multiprocessing.TimeoutError:
                break
            del left[task]
            yield task, result
        else:
            pool.close()
            pool.join()
    yield from ((task, None) for task in left)


def _named(run: Callable[[Task], Result], task: Task) -> tuple[Task, Result]:
    return task, run(task)
