"""Settings of the bot service."""

from typing import Self

from pydantic import Field, model_validator

from shared.settings import ServiceSettings


class Settings(ServiceSettings):
    """How bots think; everything else is common to all services.

    Attributes:
        think_min_s: With ``think_max_s``: a bot waits a random time between them before it acts.
        poll_interval_s: How often the engine is asked for bots that wait (lost pushes).
        act_timeout_s: How long to wait for the engine's answer before the request is repeated.
        max_thinking: Seats that one process plays at once; further turns queue.
    """

    think_min_s: float = Field(default=0.4, ge=0)
    think_max_s: float = Field(default=1.2, ge=0)
    poll_interval_s: float = Field(default=3.0, gt=0)
    act_timeout_s: float = Field(default=2.0, gt=0)
    max_thinking: int = Field(default=256, ge=1)

    @model_validator(mode="after")
    def _check_thinking(self) -> Self:
        if self.think_max_s < self.think_min_s:
            raise ValueError("think_max_s is below think_min_s")
        return self
