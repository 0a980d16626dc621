"""Where an engine is found: its state directory, its control socket, and over TCP its token."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from dovetail.core.errors import ConfigError

CONTROL_SOCKET = "control.sock"
TOKEN_FILE = "token"
MAX_SOCKET_PATH = 107  # bytes, by the kernel


def default_directory() -> Path:
    """Of the engine that is meant when none is named."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "dovetail" / "default"


def control_socket(directory: str | Path) -> Path:
    """The Unix socket of an engine; a path the kernel would not take is refused here, with the reason."""
    path = Path(directory).absolute() / CONTROL_SOCKET
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH:
        raise ConfigError(
            f"{path}: {length} bytes long, but the system takes {MAX_SOCKET_PATH} at most for a socket; "
            "choose a shorter --directory"
        )
    return path


@dataclass(frozen=True)
class TcpAddress:
    host: str
    port: int  # 0: any free one, for listening only

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> TcpAddress:
        host, colon, port = text.rpartition(":")
        host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ConfigError(f"cannot read the address {text!r}; expected HOST:PORT, such as 127.0.0.1:7700")
        return cls(host, int(port))


def make_token(path: str | Path) -> str:
    """The token in the file; a fresh one, in a file only its owner can read, if there is none."""
    fresh = secrets.token_urlsafe(32)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_token(path)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(fresh + "\n")
    return fresh


def read_token(path: str | Path) -> str:
    try:
        token = Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the token cannot be read: {error}") from error
    if len(token) < 16:
        raise ConfigError(f"{path}: a token of {len(token)} characters; expected 16 or more that nobody can guess")
    return token
