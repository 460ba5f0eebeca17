"""Stands in for kube-proxy's one rule: what comes to the Service `kubernetes` goes to the host.

forward.py ADDRESS PORT TO_ADDRESS TO_PORT
"""

import asyncio
import contextlib
import sys
from asyncio import StreamReader, StreamWriter


async def pass_on(reader: StreamReader, writer: StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def connected(reader: StreamReader, writer: StreamWriter) -> None:
    try:
        back, out = await asyncio.open_connection(sys.argv[3], int(sys.argv[4]))
    except OSError:
        writer.close()
        return
    await asyncio.gather(pass_on(reader, out), pass_on(back, writer))


async def serve() -> None:
    server = await asyncio.start_server(connected, sys.argv[1], int(sys.argv[2]))
    await server.serve_forever()


asyncio.run(serve())
