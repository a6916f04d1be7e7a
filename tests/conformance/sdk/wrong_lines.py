"""Drivers that are wrong in one line, each in its own way."""

from __future__ import annotations

from typing import Any

from tests.conformance.sdk.inside import Command, Line
from wireproof.conformance.sdk.driver_protocol import NONSENSE


def results(line: Line, change: Any) -> Line:
    """Apply `change` to each value of a result, rows included."""

    def of(value: Any) -> Any:
        if isinstance(value, list):
            return [of(one) for one in value]
        if isinstance(value, dict) and not {"hex", "text"} & value.keys():
            return {name: of(one) for name, one in value.items()}
        return change(value)

    return {**line, "result": of(line["result"])} if line.get("ok") else line


def does(command: Command, name: str) -> bool:
    return command.get("do") == name


def lossy_number(line: Line, command: Command) -> Line:
    def change(value: Any) -> Any:
        return str(int(float(value))) if isinstance(value, str) and value.isdigit() else value

    return line if does(command, "hello") else results(line, change)


def lossy_text(line: Line, command: Command) -> Line:
    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {"text": bytes.fromhex(value["hex"]).decode("utf-8", "replace")}
        return value

    return line if does(command, "hello") else results(line, change)


def numbers_as_numbers(line: Line, command: Command) -> Line:
    def change(value: Any) -> Any:
        return int(value) if isinstance(value, str) and value.isdigit() else value

    return results(line, change) if does(command, "query") else line


def flipped(line: Line, command: Command) -> Line:
    return {**line, "result": {"status": False}} if does(command, "insert") and line.get("ok") else line


def swapped(line: Line, command: Command) -> Line:
    if does(command, "batch") and line["ok"]:
        return {**line, "result": {"results": line["result"]["results"][::-1]}}
    return line


def missing(line: Line, command: Command) -> Line:
    if does(command, "stat") and line["ok"] and "total_reads" in line["result"]:
        return {**line, "result": {name: one for name, one in line["result"].items() if name != "total_reads"}}
    return line


def renamed(line: Line, command: Command) -> Line:
    if does(command, "whoami") and line["ok"]:
        return {**line, "result": {"uuid": line["result"]["id"]}}
    return line


def knows_everything(line: Line, command: Command) -> Line:
    return {"id": line["id"], "ok": True, "result": {}} if does(command, NONSENSE) else line


def other_kind(line: Line, command: Command) -> Line:
    return {**line, "error": {"kind": "other", "told": "boom"}} if line.get("ok") is False else line


def silent(what: str) -> Any:
    return lambda line, command: None if does(command, what) or line.get("event") == what else line


def hello(**change: Any) -> Any:
    return lambda line, command: {**line, "result": line["result"] | change} if does(command, "hello") else line
