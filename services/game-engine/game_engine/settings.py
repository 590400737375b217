"""Settings of the game engine."""

from shared.settings import ServiceSettings


class EngineSettings(ServiceSettings):
    """What the engine needs besides the common settings.

    Attributes:
        batch_size: Games that one write statement may move on.
        queue_size: Commands that may wait; more are refused with ERR_UNAVAILABLE.
        cached_games: Games kept in memory between moves.
        scan_interval_s: How often due deadlines are looked for.
        expiry_grace_ms: A deadline is enforced this long after it came, so that commands that
            arrived before it are judged first.
    """

    batch_size: int = 256
    queue_size: int = 4096
    cached_games: int = 20_000
    scan_interval_s: float = 0.1
    expiry_grace_ms: int = 250
