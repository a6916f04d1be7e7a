"""The limiter: never more inside than there are places, unless somebody wakes up."""

import asyncio

from wireproof.conformance.drivers.limiter import Ahead, Limiter


def test_no_more_inside_than_places() -> None:
    most = 0

    async def main() -> None:
        limiter = Limiter(3)

        async def one() -> None:
            nonlocal most
            async with limiter:
                most = max(most, limiter.inside)
                await asyncio.sleep(0)

        await asyncio.gather(*[one() for _ in range(20)])
        assert limiter.inside == 0

    asyncio.run(main())

    assert most == 3


def test_places_are_taken_in_the_order_of_asking() -> None:
    order: list[int] = []

    async def main() -> None:
        limiter = Limiter(1)

        async def one(number: int) -> None:
            async with limiter:
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*[one(number) for number in range(6)])

    asyncio.run(main())

    assert order == list(range(6))


def test_who_wakes_is_not_queued_after_those_who_did_not_begin() -> None:
    order: list[str] = []

    async def main() -> None:
        limiter, woken = Limiter(1), asyncio.Event()

        async def sleeper() -> None:
            async with limiter:
                limiter.step_out()
                await woken.wait()
                limiter.step_in()
                order.append(f"woken with {limiter.inside} inside")

        async def other(number: int) -> None:
            async with limiter:
                woken.set()
                order.append(f"{number}")
                await asyncio.sleep(0)
                await asyncio.sleep(0)

        await asyncio.gather(sleeper(), other(1), other(2))
        assert limiter.inside == 0

    asyncio.run(main())

    assert order == ["1", "woken with 2 inside", "2"]


def test_a_place_is_not_lost_with_who_gives_up() -> None:
    async def main() -> None:
        limiter, entered = Limiter(1), asyncio.Event()

        async def one() -> None:
            async with limiter:
                entered.set()
                await asyncio.sleep(3600)

        inside, first, second = (asyncio.create_task(one()) for _ in range(3))
        await entered.wait()
        await asyncio.sleep(0)
        first.cancel()
        inside.cancel()
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(inside, first, second, return_exceptions=True)

        assert limiter.inside == 0
        async with limiter:
            assert limiter.inside == 1

    asyncio.run(main())


def test_who_comes_ahead_takes_the_next_place_and_leaves_it_to_the_others() -> None:
    order: list[str] = []

    async def main() -> None:
        limiter = Limiter(1)

        async def one(name: str, place: Limiter | Ahead) -> None:
            async with place:
                order.append(name)
                await asyncio.sleep(0)

        usual = [one(name, limiter) for name in ("first", "second", "third")]
        early = [one(name, limiter.ahead) for name in ("early", "too")]
        await asyncio.gather(*usual, *early)
        assert limiter.inside == 0

    asyncio.run(main())

    assert order == ["first", "early", "too", "second", "third"]


def test_slow_deliveries_have_places_of_their_own_and_others_come_ahead() -> None:
    limiter = Limiter(3)

    assert limiter.place("whole") is limiter
    assert limiter.place("dripped") is limiter.aside
    assert (limiter.aside.places, limiter.aside.inside) == (3, 0)
    assert {id(limiter.place(name)) for name in ("bytes", "joined", "half-closed")} == {id(limiter.ahead)}
