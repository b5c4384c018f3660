"""A RabbitMQ node of its own: its folders, its name and its ports on the loopback; the system's service is left alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kombu import Connection
from kombu.exceptions import OperationalError

from tests.running import wait_until

PROGRAMS = Path("/usr/lib/rabbitmq/bin")
START_LIMIT_S = 90.0


class Rabbit:
    """`start` again after `kill` finds what was durable."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port, distribution = _free_port(), _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(folder),  # the cookie lies there
            "RABBITMQ_NODENAME": f"pixlane-{uuid.uuid4().hex[:8]}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(folder / "none"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(_free_port()),  # its own, so that it ends with the test
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none +S 2:2",
        }
        (folder / "plugins").write_text("[].\n")

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self._port}//"

    def start(self) -> None:
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [PROGRAMS / "rabbitmq-server"],
                env=self._environment,
                cwd=self._folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        wait_until(self._answers, "RabbitMQ answers", START_LIMIT_S)

    def kill(self) -> None:
        """SIGKILL to the node and whatever it started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def end(self) -> None:
        self.kill()
        # epmd leaves the group of its starter; it lets itself be ended once it has seen that the node is gone.
        wait_until(self._epmd_is_gone, "epmd ends")

    def _epmd_is_gone(self) -> bool:
        told = subprocess.run(["epmd", "-kill"], env=self._environment, capture_output=True, text=True, timeout=30, check=False)
        return "Killed" in told.stdout or "Cannot connect" in told.stdout + told.stderr

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "output").read_text()
        with suppress(OSError, OperationalError), Connection(self.url, connect_timeout=2) as connection:
            connection.ensure_connection(max_retries=1)
            return True
        return False


@contextmanager
def rabbitmq() -> Iterator[Rabbit]:
    with tempfile.TemporaryDirectory(prefix="pxr") as folder:
        rabbit = Rabbit(Path(folder))
        try:
            rabbit.start()
            yield rabbit
        finally:
            rabbit.end()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
