import asyncio

import pytest

from shared import lifecycle
from shared.lifecycle import Service
from shared.settings import ServiceSettings


class NoBus:
    is_connected = True

    async def stop_serving(self):
        pass

    async def drain(self, timeout_s=5.0):
        raise ConnectionResetError("already gone")


@pytest.fixture
def service():
    settings = ServiceSettings(nats_url="nats://x", nats_user="x", nats_password="x")
    return Service("test", settings, NoBus())


async def test_a_job_that_raises_is_started_again(service, monkeypatch):
    monkeypatch.setattr(lifecycle, "RESTART_MIN_S", 0.001)
    runs, done = [], asyncio.Event()

    async def job(stop):
        runs.append(1)
        if len(runs) < 4:
            raise RuntimeError("once more")
        done.set()
        await stop.wait()

    service.job("work", job)
    await asyncio.wait_for(done.wait(), 5)

    assert len(runs) == 4
    await service.checks["jobs"]()
    await service.close()


async def test_a_job_that_ended_makes_the_service_not_ready(service):
    async def job(stop):
        return

    service.job("work", job)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="work"):
        await service.checks["jobs"]()
    await service.close()


async def test_every_step_of_the_shutdown_is_taken_even_if_one_fails(service):
    taken = []

    async def fail():
        taken.append("fails")
        raise OSError("gone")

    async def succeed():
        taken.append("succeeds")

    service.on_close(succeed)
    service.on_close(fail)

    await service.close()

    assert taken == ["fails", "succeeds"]
