"""Metrics of the gateway."""

from prometheus_client import Counter, Gauge

SOCKETS = Gauge("samovar_sockets", "Authenticated WebSocket connections")
FEEDS = Gauge("samovar_watched_games", "Games this gateway receives the pushes of")
CLOSED = Counter("samovar_sockets_closed_total", "Connections closed by the gateway", ["code"])
COMMANDS = Counter("samovar_commands_total", "Messages of clients that were understood")
BAD_FRAMES = Counter("samovar_bad_frames_total", "Messages of clients with a wrong shape")
REFUSED = Counter("samovar_commands_refused_total", "Messages of clients over a limit")
REPEATED = Counter("samovar_commands_repeated_total", "Requests to services sent again")
GAPS = Counter("samovar_push_gaps_total", "Gaps in the pushes of a game that had to be fetched")
REPAIRED = Counter("samovar_pushes_repaired_total", "Games found behind by the resync")
