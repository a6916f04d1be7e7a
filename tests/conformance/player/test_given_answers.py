"""Which answer comes again: the newest that the bytes begin with, and none that others are like by chance."""

from wireproof.conformance.player.given_answers import LONGEST, MOST, SHORTEST, Exchange, GivenAnswers

FIRST, SECOND = (Exchange(f"THR-QUERY-{number}", False, "QUERY") for number in (4, 5))


def test_the_newest_answer_counts() -> None:
    answers = GivenAnswers()
    answers.add(b"an answer", FIRST)
    answers.add(b"an answer", SECOND)

    assert answers.again(b"an answer, and more") == SECOND
    assert answers.again(b"an answe") is None


def test_short_and_long_answers_are_not_kept() -> None:
    answers = GivenAnswers()
    for size in (SHORTEST - 1, LONGEST + 1):
        answers.add(bytes(size), FIRST)

        assert answers.again(bytes(size)) is None


def test_the_oldest_is_dropped() -> None:
    answers = GivenAnswers()
    for number in range(MOST + 1):
        answers.add(number.to_bytes(SHORTEST, "big"), FIRST)

    assert answers.again(bytes(SHORTEST)) is None
    assert answers.again((1).to_bytes(SHORTEST, "big")) == FIRST
