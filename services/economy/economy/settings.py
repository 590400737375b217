"""Settings of economy; the common ones are in ``shared.settings``."""

from pydantic import Field

from shared.money import MAX_BET
from shared.settings import ServiceSettings


class Settings(ServiceSettings):
    opening_grant: int = Field(1000, ge=0, le=MAX_BET)  # coins of a new account; 0: none
    hold_extension_s: float = Field(60.0, gt=0)  # until an overdue hold is asked about again
    unsettled_after_s: float = Field(60.0, gt=0)  # a captured game is asked about after this
    audit_interval_s: float = Field(300.0, gt=0)  # the ledger is recomputed this often
