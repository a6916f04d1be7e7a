"""Sharing out the tests to the processes of pytest-xdist: whole files, and on with the rest when a process dies.

xdist's own scheduler plays the test that ended its process again, on another one, until none is left; it gives work to
a process that has not collected yet, and waits without end for one that has a single test (it runs a test only when it
knows the next, or that there is none).
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.places import GATES, SPARK


class FileScheduling(LoadScopeScheduling):
    """Whole files; all of Spark goes to one process with its JVM, and each gate is apart."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(GATES):
            return nodeid
        return SPARK if nodeid.startswith(SPARK) else nodeid.split("::")[0]

    def remove_node(self, node: WorkerController) -> str | None:
        """Take a process out; return the test that ended it, which is not played again, or None."""
        units = self.assigned_work.pop(node)
        under_way = [(unit, one) for unit in units.values() for one, done in unit.items() if not done]
        if not under_way:
            return None
        unit, crashed = under_way[0]
        unit[crashed] = True
        self.workqueue.update({scope: unit for scope, unit in units.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed

    def _reschedule(self, node: WorkerController) -> None:
        if node.shutting_down or node not in self.registered_collections:
            return
        while self.workqueue and self._pending_of(self.assigned_work[node]) <= 2:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()
