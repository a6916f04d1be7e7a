"""Clients with servers: what `wireproof interop` says of each pair, from the records of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.schemas import BLAMING

if TYPE_CHECKING:
    from wireproof.spark.matrix import Json, Rows

SPOKEN: Final = ("protocol", "profile", "variant")
CLIENT: Final = ("client", "client_version")
SERVER: Final = ("server", "server_version")
COUNTS: Final = ("agree", "client_broke", "server_broke", "not_judged")


def pairs(records: DataFrame) -> DataFrame:
    """Records of kept runs -> one row a pair: operations on which both agree, that the client broke first, that the
    server broke first, and that could not be judged.

    Each side has records of a pair, and those of one run of `wireproof interop` have one id. The newest run of a pair
    counts.
    """
    is_client = F.col("role") == "client"
    started = "started" if "started" in records.columns else "run_started_at"
    mine, other = ("implementation", "implementation_version"), ("peer", "peer_version")
    of_client = {
        name: F.when(is_client, F.col(a)).otherwise(F.col(b)) for name, a, b in zip(CLIENT, mine, other, strict=True)
    }
    of_server = {
        name: F.when(is_client, F.col(b)).otherwise(F.col(a)) for name, a, b in zip(SERVER, mine, other, strict=True)
    }
    named = records.where(F.col("peer").isNotNull()).withColumns({**of_client, **of_server})
    key = (*SPOKEN, *CLIENT, *SERVER)
    blamed, passes = F.col("verdict").isin(*BLAMING), F.col("verdict") == "pass"
    counted = named.groupBy(*key, "run_id").agg(
        F.max(started).alias("started"),
        F.greatest(F.count_if(passes & is_client), F.count_if(passes & ~is_client)).alias("agree"),
        F.count_if(blamed & is_client).alias("client_broke"),
        F.count_if(blamed & ~is_client).alias("server_broke"),
        F.greatest(F.count_if(is_client), F.count_if(~is_client)).alias("operations"),
    )
    last = F.row_number().over(Window.partitionBy(*key).orderBy(F.desc("started"), F.desc("run_id")))
    newest = counted.withColumn("place", last).where(F.col("place") == 1)
    known = F.col("agree") + F.col("client_broke") + F.col("server_broke")
    not_judged = F.greatest(F.col("operations") - known, F.lit(0)).alias("not_judged")
    return newest.select(*key, *COUNTS[:-1], not_judged)


def pair_tables(rows: Rows) -> list[Json]:
    """Return the rows of `pairs` as one table for each protocol, profile and variant: clients down, servers across."""
    return [_table(spoken, rows) for spoken in sorted({tuple(row[name] for name in SPOKEN) for row in rows})]


def _table(spoken: tuple[str, ...], rows: Rows) -> Json:
    here = [row for row in rows if tuple(row[name] for name in SPOKEN) == spoken]
    clients = sorted({tuple(row[name] for name in CLIENT) for row in here})
    servers = sorted({tuple(row[name] for name in SERVER) for row in here})
    cells: list[list[Json | None]] = [[None] * len(servers) for _ in clients]
    for row in here:
        at = clients.index(tuple(row[name] for name in CLIENT)), servers.index(tuple(row[name] for name in SERVER))
        cells[at[0]][at[1]] = {name: row[name] for name in COUNTS}
    return {
        **dict(zip(SPOKEN, spoken, strict=True)),
        "clients": [{"implementation": name, "version": version} for name, version in clients],
        "servers": [{"implementation": name, "version": version} for name, version in servers],
        "cells": cells,
    }
