"""Which case is the same as one of cut answers, but for the cut."""

from __future__ import annotations

import pytest

from wireproof.conformance.sdk.play.cut_answers import uncut
from wireproof.conformance.sdk.play.sdk_suite import load_sdk_suite


@pytest.mark.parametrize(
    ("id", "found"),
    [
        ("sdk-push/plain.fields", "sdk-push/plain.whole"),
        ("sdk-push/plain.whole", None),
        ("sdk-stats/many-fragments.1460", "sdk-stats/many-fragments.100000"),
        ("sdk-query/keys.1", None),
    ],
)
def test_the_same_case_in_whole_answers(id: str, found: str | None) -> None:
    cases = load_sdk_suite("throttr").cases
    case = next(one for one in cases if one.id == id)

    assert uncut(case, cases) == found
