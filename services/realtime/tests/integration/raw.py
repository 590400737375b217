"""A WebSocket client that sends what no library would."""

import asyncio
import contextlib
import socket
from typing import Any, Self

from websockets.frames import Close, Frame, Opcode

from services.realtime.tests.integration.world import World

WAIT_S = 10.0


class Raw:
    """One socket, after its handshake."""

    def __init__(self, sock: socket.socket, rest: bytes) -> None:
        self._sock = sock
        self._data = rest
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def open(cls, world: World, *headers: str, receive_buffer: int | None = None) -> "Raw":
        """Open a socket; it reads only when it is asked to."""
        sock = socket.socket()
        sock.setblocking(False)
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, ("127.0.0.1", world.gateway.settings.ws_port))
        head = "".join(f"{header}\r\n" for header in headers)
        request = (
            "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"{head}\r\n"
        )
        await loop.sock_sendall(sock, request.encode())
        data = b""
        async with asyncio.timeout(WAIT_S):
            while b"\r\n\r\n" not in data:
                data += await loop.sock_recv(sock, 4096)
        return cls(sock, data.partition(b"\r\n\r\n")[2])

    @classmethod
    async def enter(cls, world: World, who: Any = None, **options: Any) -> "Raw":
        """Open a socket as a player."""
        token = world.auth.token(world.auth.identity(who))
        return await cls.open(world, f"Authorization: Bearer {token}", **options)

    async def send(self, *frames: Frame) -> None:
        await self.send_bytes(b"".join(frame.serialize(mask=True) for frame in frames))

    async def send_bytes(self, data: bytes) -> None:
        async with asyncio.timeout(WAIT_S):
            await self._loop.sock_sendall(self._sock, data)

    async def to_the_end(self) -> list[Frame]:
        """Read on until the other side hangs up, which a close frame is answered for."""
        has_answered = False
        async with asyncio.timeout(WAIT_S):
            while chunk := await self._loop.sock_recv(self._sock, 65536):
                self._data += chunk
                frames = _parse(self._data)
                if not has_answered and Opcode.CLOSE in [frame.opcode for frame in frames]:
                    has_answered = True
                    with contextlib.suppress(ConnectionError):
                        await self.send(Frame(Opcode.CLOSE, b""))
        return _parse(self._data)

    async def close_code(self) -> int:
        """Read to the end; return the code of the close frame, which must be the last frame."""
        *_, last = await self.to_the_end()
        assert last.opcode is Opcode.CLOSE
        return Close.parse(bytes(last.data)).code

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sock.close()


def _parse(data: bytes) -> list[Frame]:
    """Split the bytes of a server into frames; the last one may be cut off."""
    frames = []
    while len(data) >= 2:
        size, start = data[1] & 0x7F, 2
        if size >= 126:
            start = 4 if size == 126 else 10
            size = int.from_bytes(data[2:start], "big")
        if len(data) < start + size:
            break
        frames.append(Frame(Opcode(data[0] & 0x0F), data[start : start + size]))
        data = data[start + size :]
    return frames
