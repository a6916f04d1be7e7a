"""The command `site`: which session it starts, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest

from wireproof.spark import site
from wireproof.spark.starting import RefusedError, has_few_records

pytestmark = pytest.mark.spark


def test_the_session_of_a_site_follows_the_size_of_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def refused(command: str, master: str | None, *, small: bool = False) -> NoReturn:
        asked.append(small)
        raise RefusedError(command)

    monkeypatch.setattr(site, "session_for", refused)
    (tmp_path / "_batches").mkdir()
    for number, records in enumerate((10, 99_989, 1)):
        marker = {"rows": {"records": records, "runs": 1}}
        (tmp_path / "_batches" / f"{number}.json").write_text(json.dumps(marker))
        assert site.main(["--lake", str(tmp_path), "--out", str(tmp_path / "site")]) == 2
    assert asked == [True, True, False]
    assert not has_few_records(f"file:{tmp_path}/none")


def test_sentences_that_are_no_json_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "s").write_text("{")
    words = ["--lake", "l", "--out", str(tmp_path / "o"), "--sentences", str(tmp_path / "s")]
    assert site.main(words) == 2
    assert "no JSON file of sentences" in capsys.readouterr().err
