"""What `wireproof ingest` prints of what it took and refreshed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wireproof.spark.wording import number_of

if TYPE_CHECKING:
    from wireproof.spark.lake.documents import TakenDocuments
    from wireproof.spark.lake.ingest import Ingested
    from wireproof.spark.lake.refreshing import Refreshed


def report_ingest(ingested: Ingested, say: Callable[[str], None]) -> None:
    """Say what became of the runs and lines, in a few lines."""
    runs = ingested.runs
    new = number_of(runs.get("new", 0), "new run")
    say(
        f"took {new} and {runs.get('superseding', 0)} of which the lake had a part "
        f"({number_of(ingested.rows['records'], 'record')}); already there: {runs.get('repeated', 0)}"
    )
    if ingested.partial:
        say(f"{number_of(ingested.partial, 'run')} of them partial, by what their records say")
    for reason, number in sorted(ingested.refused.items()):
        say(f"quarantined {number_of(number, 'line')}: {reason}")
    for source, reason in ingested.examples:
        say(f"  {source}: {reason}")


def report_documents(taken: TakenDocuments, words: tuple[str, str], say: Callable[[str], None]) -> None:
    """Say what became of findings or kill matrices, in a few lines; `words` are for one and for several of them."""
    say(f"took {taken.new} new {words[taken.new != 1]}; already there: {taken.repeated}")
    for reason, number in sorted(taken.refused.items()):
        say(f"quarantined {number} {words[number != 1]}: {reason}")


def report_refresh(refreshed: Refreshed, say: Callable[[str], None]) -> None:
    """Say what a refresh wrote."""
    if refreshed.generation is None:
        say("aggregates were up to date")
        return
    how = "rebuilt" if refreshed.rebuilt else f"patched {number_of(refreshed.columns, 'column')} of"
    say(f"{how} the aggregates: generation {refreshed.generation}")
