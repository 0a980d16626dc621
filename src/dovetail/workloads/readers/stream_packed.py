"""Text that may be packed: .gz, .bz2, or an archive (.tar, .tgz, .tbz2, ...) that holds one file."""

from __future__ import annotations

import bz2
import gzip
import tarfile
import zlib
from pathlib import Path

from dovetail.core.delimited import refusal

_ARCHIVES = (".tar", ".tgz", ".tbz2", ".tar.gz", ".tar.bz2")
_MAX_BYTES = 2**30  # of an unpacked file: what is packed into a small one may be endless


def unpacked_text(path: Path, expected: str) -> str:
    """The file as text without a byte-order mark; refused if it cannot be read, is empty or is not UTF-8."""
    try:
        data = _unpacked(path)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        reason = getattr(error, "strerror", None) or error
        raise refusal(path, None, f"cannot be read: {reason}", expected) from None
    if len(data) > _MAX_BYTES:
        raise refusal(path, None, "more than 1 GB when unpacked", expected)
    if not data.strip():
        raise refusal(path, None, "empty file", expected)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise refusal(path, row, f"wrong encoding: byte {error.start} is not UTF-8", "UTF-8 text") from None


def _unpacked(path: Path) -> bytes:
    name = path.name.lower()
    if name.endswith(_ARCHIVES):
        with tarfile.open(path) as archive:
            files = [member for member in archive if member.isfile()]
            if len(files) != 1:
                raise refusal(path, None, f"an archive of {len(files)} files", "one file in it")
            content = archive.extractfile(files[0])
            return b"" if content is None else content.read(_MAX_BYTES + 1)
    if name.endswith(".gz"):
        with gzip.open(path) as packed:
            return packed.read(_MAX_BYTES + 1)
    if name.endswith(".bz2"):
        with bz2.open(path) as packed:
            return packed.read(_MAX_BYTES + 1)
    with path.open("rb") as plain:
        return plain.read(_MAX_BYTES + 1)
