"""Settings of the gateway; the limits are settings so that load tests can raise them."""

from functools import cached_property

from shared.settings import ServiceSettings


class Settings(ServiceSettings):
    """Environment of the gateway (prefix ``SAMOVAR_``).

    Attributes:
        ws_port: Port of the WebSocket wire; ``http_host`` is its host.
        public_origins: Origins whose pages may open sockets, comma separated.
        auth_deadline_s: How long a socket may live before it is authenticated.
        expiry_notice_s: How long before the end of its token a socket is told.
        control_frames_per_minute: Pings, pongs, and parts of messages of one socket.
        state_requests_per_s: GET_GAME_STATE, and its counterparts over HTTP.
        unauthenticated_sockets: Sockets of which it is not known yet whose they are.
        unauthenticated_sockets_per_address: The same, of one client address.
        act_timeout_s: When a command without a reply is repeated.
        act_patience_s: For how long it is repeated before the client learns ERR_TIMEOUT.
        ask_patience_s: The same for everything that is not a move.
        gap_hold_s: How long pushes after a gap wait for those before it.
        resync_interval_s: How often sequences are compared with the engine's.
        presence_ttl_s: When a gateway that died no longer counts as a place its players are at.
        heartbeat_interval_s: Pause between two looks for dead sockets.
        restart_spread_ms: Clients of a stopping gateway come back over this span.
        revoked_reload_s: How often revocations are loaded again, for pushes that got lost.
    """

    ws_port: int = 0
    public_origins: str = ""

    auth_deadline_s: float = 5.0
    expiry_notice_s: float = 60.0
    max_frame_bytes: int = 16 * 1024
    bad_frames_per_minute: int = 20
    control_frames_per_minute: int = 600
    commands_per_s: float = 10.0
    commands_burst: int = 20
    refusals_per_minute: int = 100
    state_requests_per_s: float = 2.0
    seats_per_minute: int = 6
    watched_games: int = 20
    sockets_per_player: int = 10
    unauthenticated_sockets: int = 5000
    unauthenticated_sockets_per_address: int = 200
    send_queue_frames: int = 256
    send_queue_bytes: int = 1024 * 1024

    act_timeout_s: float = 1.0
    act_patience_s: float = 8.0
    ask_patience_s: float = 8.0
    gap_hold_s: float = 0.05
    resync_interval_s: float = 3.0
    presence_ttl_s: float = 30.0
    heartbeat_interval_s: float = 15.0
    restart_spread_ms: int = 3000
    revoked_reload_s: float = 30.0

    @cached_property
    def origins(self) -> frozenset[str]:
        """The allow-list of the Origin header."""
        listed = (origin.strip().rstrip("/") for origin in self.public_origins.split(","))
        return frozenset(origin for origin in listed if origin)
