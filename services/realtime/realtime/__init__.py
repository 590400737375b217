"""WebSocket gateway and REST facade."""
