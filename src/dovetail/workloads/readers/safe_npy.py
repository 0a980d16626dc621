"""Reads .npy files that hold pickled objects, without ever running what is in them.

A pickle is a program: it names functions and has them called.  Here a name is looked up in a table of four,
and every one of them leads to an inert object of this module, never to numpy's own.  That matters: numpy
restores arrays and dtypes from whatever state the file gives, and a forged state (flags that do not fit the
type) makes it read raw bytes as object pointers.  So arrays are rebuilt from their bytes by plain
`frombuffer`, and only plain number, text and object types exist.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

_PLAIN_TYPE = re.compile(r"[<>|=]?[biufcSUO][0-9]{0,5}")
_ROOTS = ("numpy.core", "numpy._core")  # numpy before and since version 2


class UnsafeFile(Exception):
    """The file is no array file, is damaged, or asks for something that reading data does not need."""


def read_npy(path: Path) -> Any:
    """The array in a .npy file; a 0-dimensional object array gives the object itself."""
    try:
        with path.open("rb") as file:
            shape, fortran, dtype = _read_header(file)
            if not dtype.hasobject:
                return _read_numbers(file, shape, fortran, dtype)
            data = io.BytesIO(file.read())  # never gives more than there is, whatever length a pickle claims
            return _plain(_InertUnpickler(data, encoding="latin1").load(), {})
    except (UnsafeFile, OSError):
        raise
    except Exception as error:  # a damaged pickle or header may raise anything at all
        raise UnsafeFile(f"damaged or not a .npy file ({type(error).__name__}: {error})") from error


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    if version == (1, 0):
        header = npy.read_array_header_1_0(file)
    elif version == (2, 0):
        header = npy.read_array_header_2_0(file)
    else:
        raise UnsafeFile(f".npy format version {version[0]}.{version[1]} is not known, only 1.0 and 2.0")
    shape, fortran, dtype = header
    return shape, fortran, dtype


def _read_numbers(file: BinaryIO, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any]) -> Any:
    data = file.read()
    needed = math.prod(shape) * dtype.itemsize
    if len(data) != needed:
        raise UnsafeFile(f"truncated or padded: {len(data)} bytes of data where its header says {needed}")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


class _Inert:
    """Stands for a name in a pickle.  Has no attributes to set and nothing to call."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        raise UnsafeFile("sets the state of something that is not an array")


class _ArrayClass(_Inert):
    __slots__ = ()


class _Type(_Inert):
    """A dtype: its code, and the byte order that its state gives."""

    __slots__ = ("code",)

    def __init__(self, code: str) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        if order not in ("<", ">", "|", "="):
            raise UnsafeFile(f"byte order {order!r} is not known")
        if order != "|":
            self.code = order + self.code.lstrip("<>|=")

    def numpy(self) -> np.dtype[Any]:
        return np.dtype("O") if "O" in self.code else np.dtype(self.code)


class _MakeType(_Inert):
    __slots__ = ()

    def __call__(self, code: Any, *_flags: Any) -> _Type:
        if not isinstance(code, str) or not _PLAIN_TYPE.fullmatch(code):
            raise UnsafeFile(f"element type {code!r} is not a plain number or text")
        return _Type(code)


class _Array(_Inert):
    """An array still in parts; `_plain` puts them together once everything is read."""

    __slots__ = ("state",)
    state: tuple[Any, ...]

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise UnsafeFile("array state is not one that numpy writes")
        self.state = state

    def numpy(self, done: dict[int, Any]) -> Any:
        _version, shape, kind, fortran, data = self.state
        if not isinstance(kind, _Type) or not isinstance(shape, tuple):
            raise UnsafeFile("array state is not one that numpy writes")
        dtype = kind.numpy()
        if not dtype.hasobject:
            raw = data.encode("latin1") if isinstance(data, str) else data
            return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")
        if not isinstance(data, list) or len(data) != math.prod(shape):
            raise UnsafeFile("array of objects does not hold as many as its shape says")
        if not shape:
            return _plain(data[0], done)
        array = np.empty(len(data), dtype=object)
        for i, item in enumerate(data):
            array[i] = _plain(item, done)
        return array.reshape(shape, order="F" if fortran else "C")


class _MakeArray(_Inert):
    __slots__ = ()

    def __call__(self, kind: Any, *_placeholder: Any) -> _Array:
        if not isinstance(kind, _ArrayClass):
            raise UnsafeFile("makes an array of a class that is not numpy's")
        return _Array()


class _MakeScalar(_Inert):
    __slots__ = ()

    def __call__(self, kind: Any, data: Any = b"") -> Any:
        if not isinstance(kind, _Type) or "O" in kind.code:
            raise UnsafeFile("scalar is not a plain number or text")
        raw = data.encode("latin1") if isinstance(data, str) else data
        return np.frombuffer(raw, kind.numpy(), count=1)[0].item()


_ALLOWED: dict[tuple[str, str], _Inert] = {
    ("numpy", "ndarray"): _ArrayClass(),
    ("numpy", "dtype"): _MakeType(),
    **{(f"{root}.multiarray", "_reconstruct"): _MakeArray() for root in _ROOTS},
    **{(f"{root}.multiarray", "scalar"): _MakeScalar() for root in _ROOTS},
}


class _InertUnpickler(pickle._Unpickler):
    """The unpickler written in Python: the one in C reserves as much memory as a forged index asks for."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise UnsafeFile(
                f"asks for {module}.{name}; only numbers, lists, dicts and arrays are read; nothing was run"
            ) from None

    def persistent_load(self, pid: Any) -> Any:
        raise UnsafeFile("refers to an object outside the file")


def _plain(value: Any, done: dict[int, Any]) -> Any:
    """The same data with its arrays put together.  `done` keeps shared parts shared, and ends circles."""
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, _Array):
        done[id(value)] = value.numpy(done)
    elif isinstance(value, _Inert):
        raise UnsafeFile("holds a bare function or type")
    elif isinstance(value, tuple):
        done[id(value)] = tuple(_plain(item, done) for item in value)
    elif isinstance(value, list) and any(isinstance(item, list | dict | tuple | _Inert) for item in value):
        done[id(value)] = []  # before its parts, one of which may be the list itself
        done[id(value)].extend(_plain(item, done) for item in value)
    elif isinstance(value, dict):
        done[id(value)] = {}
        done[id(value)].update((key, _plain(item, done)) for key, item in value.items())
    else:
        return value
    return done[id(value)]
