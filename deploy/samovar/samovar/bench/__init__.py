"""Load of many games over the public WebSocket, and what it costs each process."""
