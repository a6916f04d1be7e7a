"""What the lake costs: rows by seconds and memory, full and after one new run, with DuckDB beside it in the same run.

`python -m tests.bench.bench_spark --rows 1e6 1e7`. Each step is a process of its own, so session start is included.
full: all aggregates from Parquet (`wireproof ingest --rebuild`). one run: `wireproof ingest` of one new run of 990
records, with the refresh. site: `wireproof site`. DuckDB makes the same three tables from the same Parquet and writes
them as Parquet; the sums of both are compared. Memory is the largest resident set of
the process and its children (the JVM).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

DUCKDB = """
import sys, duckdb
lake, out, limit = sys.argv[1:4]
db = duckdb.connect()
db.execute(f"set threads to {limit}")
records = f"read_parquet('{lake}/records/*/*/*/*.parquet', hive_partitioning=true, union_by_name=true)"
runs = f"read_parquet('{lake}/runs/*/*.parquet')"
db.execute(f'''create temp table days as
select column_id, "case", day, count(*) as runs, sum(ok) as passes, max(ok) filter (before is null) as first_ok,
  count(*) filter (before <> ok) as flips, min(case_rank) as worst
from (select *, lag(ok) over (partition by column_id, "case", day order by started, run_key) as before
  from (select column_id, "case", day, started, run_key, case_rank,
      case when case_rank = 8 then 1 when case_rank <= 4 then 0 end as ok from {records} where counts)
  where ok is not null) group by all''')
db.execute(f"copy (select * from days order by column_id, \\"case\\", day) to '{out}/days.parquet'")
db.execute(f'''create temp table stats as
select column_id, "case", sum(runs) as runs, sum(passes) as passes,
  sum(flips + coalesce((before <> first_ok)::int, 0)) as flips, min(day) as first_day, max(day) as last_day,
  max_by(last_ok, day) as last_ok
from (select *, lag(last_ok) over (partition by column_id, "case" order by day) as before
  from (select *, (first_ok + flips) % 2 as last_ok from days)) group by all''')
db.execute(f"copy (select * from stats order by column_id, \\"case\\") to '{out}/stats.parquet'")
db.execute(f'''copy (select * from {records} where run_key in (
  select arg_max(run_key, struct_pack(c := partial is null, s := started, r := run_id)) from {runs} group by column_id)
  order by column_id, "case", record_id) to '{out}/latest.parquet' ''')
print(db.execute("select count(*), sum(runs), sum(passes), sum(flips), sum(last_ok) from stats").fetchone())
"""
SUMS = """
import sys, json, pathlib, duckdb
names = sorted(pathlib.Path(sys.argv[1], "_aggregates").glob("*.json"))
parts = json.loads(names[-1].read_text())["parts"]["case_stats"]
home = f"{sys.argv[1]}/aggregates/case_stats"
files = [f"{home}/generation={folder}/bucket={part}/*.parquet" for part, folder in parts.items()]
print(duckdb.read_parquet(files).aggregate("count(*), sum(runs), sum(passes), sum(flips), sum(last_ok)").fetchone())
"""
LINES = """
import sys, pathlib, duckdb
lake, out = sys.argv[1:3]
db = duckdb.connect()
files = f"{lake}/records/*/*/*/*.parquet"
db.execute(f"create view records as from read_parquet('{files}', hive_partitioning=true, union_by_name=true)")
packet = "{at_us: 10, connection: 'a', direction: 'sent', hex: repeat('07', 40), text: 'A REQUEST'}"
db.execute(f'''copy (
  select 'wireproof.record/1' as "schema", run_id, strftime(started, '%Y-%m-%dT%H:%M:%S.000Z') as run_started_at,
    record_id, role, implementation, implementation_version, protocol, profile, variant, "case", title, "group",
    level, clauses, verdict, blamed, guilty, observed, delivery, step, byte,
    case when verdict = 'fail' then '01 02' end as expected, case when verdict = 'fail' then '01 03' end as got,
    case when verdict = 'fail' then [{packet}, {packet}] else [] end as exchange, duration_us,
    330 as run_cases, run_key as folder
  from records) to '{out}' (format json, partition_by (folder), filename_pattern 'records')''')
for file in pathlib.Path(out).rglob("records*.json"):
    file.rename(file.with_name("records.jsonl"))
"""
LIMIT_SECONDS = 3600


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6])
    parser.add_argument("--lines", action="store_true", help="measure JSON lines of each size too")
    parser.add_argument("--keep", type=Path, help="folder for the lakes; they are kept and used again")
    options = parser.parse_args(arguments)
    print(f"load average before: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores", flush=True)
    print("| records | step | seconds | CPU seconds | peak MB | load average |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for rows in options.rows:
            home = options.keep or Path(scratch)
            measure(rows, home, Path(scratch))
            if options.lines:
                measure_lines(rows, home, Path(scratch))


def measure(rows: float, home: Path, scratch: Path) -> None:
    """Measure every step on a lake of so many records."""
    lake = home / f"lake-{rows:.0e}"
    if not (lake / "_batches").exists():
        step(rows, "generate", python("wireproof.spark.generate", "--rows", rows, "--lake", lake))
    step(rows, "full", python("wireproof.spark.ingest", "--lake", lake, "--rebuild"))
    sums = output([sys.executable, "-c", SUMS, str(lake)])
    out = scratch / f"duckdb-{rows:.0e}"
    out.mkdir()
    cores = str(os.cpu_count())
    found = step(rows, "full, DuckDB", [sys.executable, "-c", DUCKDB, str(lake), str(out), cores])
    if sums is not None and found.split("\n")[0] != sums:
        print(f"the sums differ: Spark {sums}, DuckDB {found}")
    for number in (1, 2):
        run = one_run(scratch / f"run-{rows:.0e}-{number}", f"{lake.name}-{time.time_ns()}")
        step(rows, f"one run ({number})", python("wireproof.spark.ingest", run, "--lake", lake))
    step(rows, "site", python("wireproof.spark.site", "--lake", lake, "--out", scratch / f"site-{rows:.0e}"))


def measure_lines(rows: float, home: Path, scratch: Path) -> None:
    """Measure the ways from JSON lines to pages: a matrix at once, and a lake with its pages."""
    runs, lake = home / f"lines-{rows:.0e}", scratch / f"from-lines-{rows:.0e}"
    if not runs.exists():
        step(rows, "lines", [sys.executable, "-c", LINES, str(home / f"lake-{rows:.0e}"), str(runs)])
    step(rows, "JSON lines: matrix", python("wireproof.spark.job", runs, "--out", scratch / f"matrix-{rows:.0e}"))
    step(rows, "JSON lines: ingest", python("wireproof.spark.ingest", runs, "--lake", lake))
    step(rows, "JSON lines: site", python("wireproof.spark.site", "--lake", lake, "--out", scratch / "lines-site"))


def python(module: str, *words: object) -> list[str]:
    """Return the command that runs a module."""
    return [sys.executable, "-m", module, *map(str, words)]


def output(command: list[str]) -> str | None:
    """Return what a command prints, None if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def step(rows: float, name: str, command: list[str]) -> str:
    """Run a command, print a row of the table, return what it printed."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seen: dict[str, float] = {"rss": 0, "cpu": 0}
    watcher = threading.Thread(target=watch, args=(process, seen), daemon=True)
    watcher.start()
    printed, _ = process.communicate(timeout=LIMIT_SECONDS)
    seconds = time.monotonic() - began
    failed = "" if process.returncode == 0 else f" FAILED: {printed.strip().splitlines()[-1:]}"
    load = os.getloadavg()[0]
    row = (f"{rows:.0e}", f"{name}{failed}", f"{seconds:.1f}", f"{seen['cpu']:.0f}", f"{seen['rss'] / 1e6:.0f}")
    print(f"| {' | '.join(row)} | {load:.1f} |", flush=True)
    return printed.strip()


def watch(process: subprocess.Popen[str], seen: dict[str, float]) -> None:
    """Note the largest resident set of a process with its children, and their CPU seconds."""
    cpu: dict[int, float] = {}
    while process.poll() is None:
        try:
            root = psutil.Process(process.pid)
            family = [root, *root.children(recursive=True)]
            seen["rss"] = max(seen["rss"], sum(one.memory_info().rss for one in family))
            for one in family:
                times = one.cpu_times()
                cpu[one.pid] = times.user + times.system
        except psutil.Error:
            pass
        seen["cpu"] = sum(cpu.values())
        time.sleep(0.2)


def one_run(folder: Path, run_id: str) -> Path:
    """Write one run of 990 records as `wireproof test` does."""
    folder.mkdir(parents=True)
    run = {"run_id": run_id, "run_started_at": "2026-04-15T10:00:00.000Z", "protocol": "made-up-a", "profile": "1"}
    who = {"role": "server", "implementation": "maker-000", "implementation_version": "1.0.0", "variant": "v0"}
    with (folder / "records.jsonl").open("w", encoding="utf-8") as stream:
        for case in range(330):
            for delivery in ("whole", "bytes", "fields"):
                stream.write(json.dumps(record(case, delivery) | run | who) + "\n")
    return folder


def record(case: int, delivery: str) -> dict[str, object]:
    """Return a record that passed."""
    return {
        "schema": "wireproof.record/1",
        "record_id": f"{case:06x}{delivery:>6}",
        "case": f"C-{case % 12}-{case:03}",
        "title": f"what case {case} asks for",
        "group": f"G{case % 12}",
        "level": "MAY" if case % 10 == 9 else "SHOULD" if case % 4 == 3 else "MUST",
        "clauses": [f"C-{case % 12}-{case // 2}"],
        "verdict": "pass",
        **dict.fromkeys(("blamed", "guilty", "observed", "step", "byte", "expected", "got")),
        "delivery": delivery,
        "exchange": [{"at_us": 10, "connection": "a", "direction": "sent", "hex": "07" * 40, "text": "A REQUEST"}],
        "duration_us": 900,
        "extra": {},
    }


if __name__ == "__main__":
    main()
