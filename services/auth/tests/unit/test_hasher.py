import asyncio
import time
from collections.abc import Iterator

import pytest

from auth.domain.passwords import Argon2Parameters
from auth.hasher import Hasher
from shared.errors import Unavailable

CHEAP = Argon2Parameters(time_cost=1, memory_kib=1024, parallelism=1)
COSTLY = Argon2Parameters(time_cost=3, memory_kib=16_384, parallelism=1)


@pytest.fixture
def hasher() -> Iterator[Hasher]:
    made = Hasher(CHEAP, threads=1, queue=50)
    yield made
    made.close()


@pytest.fixture
def costly() -> Iterator[Hasher]:
    made = Hasher(COSTLY, threads=1, queue=1)
    yield made
    made.close()


async def test_a_password_fits_its_own_hash_only(hasher: Hasher) -> None:
    encoded = await hasher.hash("correct horse")

    assert encoded.startswith("$argon2id$")
    assert await hasher.verify("correct horse", encoded)
    assert not await hasher.verify("correct house", encoded)


async def test_two_spellings_of_unicode_fit_one_hash(hasher: Hasher) -> None:
    assert await hasher.verify("cafe\u0301 noir", await hasher.hash("café noir"))


async def test_what_is_no_text_fits_nothing(hasher: Hasher) -> None:
    assert not await hasher.verify("\ud800" * 8, await hasher.hash("12345678"))


async def test_without_an_account_nothing_fits_and_the_work_is_the_same(costly: Hasher) -> None:
    encoded = await costly.hash("12345678")

    async def fastest_s(stored: str | None) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            assert not await costly.verify("a guess", stored)
            times.append(time.perf_counter() - started)
        return min(times)

    assert await fastest_s(None) > 0.5 * await fastest_s(encoded)


async def test_a_hash_with_other_parameters_is_outdated(hasher: Hasher, costly: Hasher) -> None:
    assert hasher.is_outdated(await costly.hash("12345678"))
    assert not hasher.is_outdated(await hasher.hash("12345678"))


async def test_a_full_queue_refuses_instead_of_waiting(costly: Hasher) -> None:
    outcomes = await asyncio.gather(
        *(costly.hash("12345678") for _ in range(5)), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [str, str, *[Unavailable] * 3]
    assert await costly.hash("12345678")  # there is room again


async def test_the_loop_runs_on_while_hashes_are_made(costly: Hasher) -> None:
    work = asyncio.create_task(costly.hash("12345678"))
    rounds = 0
    while not work.done():
        await asyncio.sleep(0)
        rounds += 1

    assert rounds > 10
