"""A relay in front of the server under test: over TLS for clients that insist on it, and with a count of the bytes sent."""

import asyncio
import pathlib
import ssl
import subprocess
import threading
import urllib.parse

from server import URL


class Relay:
    """Listens on a free port until `close`. `received` counts the bytes that the server has sent."""

    def __init__(self, tls=None):
        self.received = 0
        self._writers = set()
        self._target = urllib.parse.urlsplit(URL)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._relay, "127.0.0.1", 0, ssl=tls))
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _relay(self, reader, writer):
        other_reader, other_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._writers |= {writer, other_writer}
        await asyncio.gather(self._copy(reader, other_writer, False), self._copy(other_reader, writer, True))

    async def _copy(self, reader, writer, is_counted):
        try:
            while data := await reader.read(65536):
                self.received += len(data) if is_counted else 0
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # The client has gone.
        finally:
            writer.close()

    def close(self):
        async def stop():
            self._server.close()
            for writer in self._writers:
                writer.close()
            await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

        self._run(stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def tls_of_localhost(folder):
    """A TLS context for localhost, and the path of the authority to trust."""
    folder = pathlib.Path(folder)

    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    authority, own = folder / "authority.pem", folder / "own.pem"
    openssl("req", "-x509", *key, "-days", 1, "-subj", "/CN=authority", "-keyout", folder / "authority.key", "-out", authority)
    openssl("req", *key, "-subj", "/CN=localhost", "-keyout", folder / "own.key", "-out", folder / "request.pem")
    (folder / "extensions").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    signed_by = ["-CA", authority, "-CAkey", folder / "authority.key", "-CAcreateserial", "-extfile", folder / "extensions"]
    openssl("x509", "-req", "-in", folder / "request.pem", *signed_by, "-days", 1, "-out", own)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, folder / "own.key")
    return context, authority
