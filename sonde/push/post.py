"""One request to a server on this machine, with the standard library.

Enters: an address that is a loopback one, a body. Leaves: nothing, or an OSError that says what the server answered.
"""

from __future__ import annotations

import http.client
import ipaddress
import urllib.parse

from sonde.errors import UsageError

WITHIN_S = 5.0


class Server:
    """Checked when it is made: a name or an address of this machine."""

    def __init__(self, address: str) -> None:
        found = urllib.parse.urlsplit(address if "://" in address else f"http://{address}")
        try:
            port = found.port or 80
        except ValueError:
            port = -1
        if found.scheme != "http" or not found.hostname or port < 0 or found.username or found.query:
            raise UsageError(
                f"{address!r} is not the address of a server", "for example http://127.0.0.1:4040"
            )
        if not _is_loopback(found.hostname):
            raise UsageError(
                f"{found.hostname} is not this machine, and Sonde sends nothing over a network",
                "run a collector here (Grafana Alloy, the OpenTelemetry collector), or a tunnel: ssh -L",
            )
        self._host, self._port, self._path = found.hostname, port, found.path.rstrip("/")

    def post(self, path: str, body: bytes, content_type: str, **headers: str) -> None:
        """OSError when the server is not there or refuses."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=WITHIN_S)
        try:
            connection.request("POST", self._path + path, body, {"Content-Type": content_type, **headers})
            answer = connection.getresponse()
            said = answer.read(200)
        except http.client.HTTPException as error:
            raise OSError(f"{self._host}:{self._port} does not speak HTTP: {error!r}") from None
        finally:
            connection.close()
        if not 200 <= answer.status < 300:
            text = said.decode("utf-8", "replace").strip()
            raise OSError(f"{self._host}:{self._port} answered {answer.status} {text}")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
