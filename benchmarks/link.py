"""`python -m benchmarks.link`: a network link in user space, in front of a server: so many bits a second, so much delay.

One link for all connections, each way of its own, as a network card has them. For kernels without `tc netem`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

PIECE_BYTES = 16 * 1024
AHEAD_PIECES = 256


@dataclass
class Way:
    """One direction: the time at which the last bit so far has left."""

    bits_per_s: float
    delay_s: float
    free_at: float = 0.0

    def arrival(self, byte_count: int) -> float:
        """When a piece that enters now is there."""
        now = time.monotonic()
        if self.bits_per_s:
            self.free_at = max(now, self.free_at) + 8 * byte_count / self.bits_per_s
        return max(now, self.free_at) + self.delay_s


async def carry(way: Way, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pieces in order, each at its time."""
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(AHEAD_PIECES)

    async def deliver() -> None:
        while True:
            at, piece = await under_way.get()
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            if not piece:
                target.write_eof()
                return
            target.write(piece)
            await target.drain()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(deliver())
        while piece := await source.read(PIECE_BYTES):
            await under_way.put((way.arrival(len(piece)), piece))
        await under_way.put((way.arrival(0), b""))


async def serve(options: argparse.Namespace) -> None:
    bits_per_s, delay_s = options.mbit * 1e6, options.round_trip_ms / 2000
    there, back = Way(bits_per_s, delay_s), Way(bits_per_s, delay_s)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(options.target_host, options.target_port)
        with contextlib.suppress(OSError, ExceptionGroup):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(carry(there, reader, inner_writer))
                tasks.create_task(carry(back, inner_reader, writer))
        for each in (writer, inner_writer):
            each.close()

    server = await asyncio.start_server(connected, options.host, options.port)
    print("listening", flush=True)
    async with server:
        await server.serve_forever()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.link", description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("target_host")
    parser.add_argument("target_port", type=int)
    parser.add_argument("--mbit", type=float, default=0.0, help="megabits a second, each way; 0: as fast as it goes")
    parser.add_argument("--round-trip-ms", type=float, default=0.0)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
