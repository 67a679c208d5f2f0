"""Converts the values that callers have in hand to values of JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import UserString
from collections.abc import Mapping, Sequence, Set, ValuesView
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from ._errors import ParlanceInvalidValue

MAX_DEPTH = 100
"""Maximum nesting of a value."""

MAX_ITEMS = 500_000
"""Maximum number of elements of a list. The service accepts bodies of 1 MiB, which hold about as many."""

MAX_BITS = 3_300
"""Maximum size of an integer, about 1,000 digits. Python refuses to write much larger ones."""

TEXTUAL = ("fields", "attrs")
"""Members that are texts to the service: a `Decimal` keeps its zeros, and a time may have no offset."""


def member(path: str, name: str) -> str:
    """Returns the path of a member, such as `fields.price`."""
    return f"{path}.{name}" if path else name


def _is_textual(path: str) -> bool:
    return path.replace("[", ".").split(".", 1)[0] in TEXTUAL


def _name(key: Any, path: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return _text(key, path)
    if isinstance(key, (UUID, date, PurePath)) or (isinstance(key, int) and not isinstance(key, bool)):
        return str(key)
    raise ParlanceInvalidValue(path, f"has the key {key!r:.100}: write it as str")


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ParlanceInvalidValue(path, "contains a lone surrogate, which is no character") from None
    return str(value)


def _decimal(value: Decimal, path: str) -> Any:
    if not value.is_finite():
        raise ParlanceInvalidValue(path, f"is {value}, which JSON cannot represent: leave it out or use None")
    if abs(value.adjusted()) > 1_000:
        raise ParlanceInvalidValue(path, "has more than 1,000 digits")
    text = format(value, "f")
    if _is_textual(path):
        return text
    return int(value) if value == value.to_integral_value() else float(value)


def _moment(value: datetime | time, path: str) -> str:
    if value != value:
        raise ParlanceInvalidValue(path, "is not a time: leave it out or use None")
    if isinstance(value, datetime) and value.tzinfo is None and not _is_textual(path):
        raise ParlanceInvalidValue(path, "has no time zone: use datetime.now(timezone.utc) or astimezone()")
    return value.isoformat()


def _numpy(value: Any, path: str) -> Any:
    """Returns a scalar or an array of numpy, or of a library that imitates it, as values of Python."""
    kind, is_array = getattr(value.dtype, "kind", ""), getattr(value, "shape", ()) != ()
    is_short = kind == "f" and getattr(value.dtype, "itemsize", 8) < 8
    if kind != "M" and not is_short:
        return value.tolist()
    if is_array:
        return list(value)
    if is_short:
        # `tolist` returns 0.10000000149011612 for 0.1 with 32 bits.
        return float(str(value))
    # `tolist` returns nanoseconds as a number.
    text = str(value)
    if text == "NaT":
        raise ParlanceInvalidValue(path, "is NaT: leave it out or use None")
    if not _is_textual(path):
        raise ParlanceInvalidValue(path, "has no time zone: use a datetime with one")
    return text


def _scalar(value: Any, path: str) -> Any:
    """Returns a value without members. Raises `ParlanceInvalidValue` for a type that has no form in JSON."""
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise ParlanceInvalidValue(path, "has more than 1,000 digits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ParlanceInvalidValue(path, f"is {value}, which JSON cannot represent: leave it out or use None")
        return float(value)
    if isinstance(value, Decimal):
        return _decimal(value, path)
    if isinstance(value, (datetime, time)):
        return _moment(value, path)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (UUID, PurePath)):
        return _text(str(value), path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise ParlanceInvalidValue(path, "is bytes: decode it to str, such as value.decode()")
    kind = f"a function or class, {value!r:.60}" if callable(value) else f"of the type {type(value).__name__}"
    raise ParlanceInvalidValue(path, f"is {kind}, which has no form in JSON: convert it to str, int, float, list or dict")


def _members(value: Any) -> list[tuple[Any, Any]] | None:
    """Returns the members of a mapping, a dataclass or a named tuple. None for other values."""
    if isinstance(value, Mapping):
        return list(value.items())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    return None


def _items(value: Any, path: str) -> list[Any] | None:
    """Returns the elements of a collection. None for other values."""
    is_list = isinstance(value, (Sequence, Set, ValuesView)) and not isinstance(value, (str, bytes, bytearray, memoryview))
    if not is_list:
        return None
    if len(value) > MAX_ITEMS:
        raise ParlanceInvalidValue(path, f"has {len(value)} elements, more than a request can have")
    return list(value)


def plain(value: Any, path: str = "", within: tuple[int, ...] = ()) -> Any:
    """Returns `value` as a value of JSON. `path` names it in errors, such as `fields.price`.

    Raises `ParlanceInvalidValue` for a value that has no form in JSON or fails when it is read, with the path of this
    value.
    """
    try:
        return _plain(value, path, within)
    except ParlanceInvalidValue:
        raise
    except Exception as error:
        raise ParlanceInvalidValue(path, f"cannot be read: {type(error).__name__}: {error!s:.200}") from error


def _plain(value: Any, path: str, within: tuple[int, ...]) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, UserString):
        value = str(value)
    if value is None or isinstance(value, bool):
        return value
    if hasattr(value, "dtype") and callable(getattr(value, "tolist", None)) and not isinstance(value, (str, float)):
        value = _numpy(value, path)
        if value is None or isinstance(value, bool):
            return value
    if id(value) in within:
        raise ParlanceInvalidValue(path, "contains itself")
    members = _members(value)
    items = None if members is not None else _items(value, path)
    if members is None and items is None:
        return _scalar(value, path)
    if len(within) >= MAX_DEPTH:
        raise ParlanceInvalidValue(path, f"is nested more than {MAX_DEPTH} deep")
    inside = (*within, id(value))
    if items is not None:
        found = [plain(item, f"{path}[{index}]", inside) for index, item in enumerate(items)]
        # A set has no order, and the text of a message must not depend on the process.
        return sorted(found, key=json.dumps) if isinstance(value, Set) else found
    result: dict[str, Any] = {}
    for key, item in members or []:
        name = _name(key, path)
        if name in result:
            raise ParlanceInvalidValue(member(path, name), "is the name of two keys")
        result[name] = plain(item, member(path, name), inside)
    return result


def parameter(value: Any, name: str) -> str:
    """Returns `value` as the text of a query parameter, a part of a path or a header."""
    found = plain(value, name)
    if isinstance(found, bool):
        return "true" if found else "false"
    if found is None or isinstance(found, (list, dict)):
        raise ParlanceInvalidValue(name, "must be a text or a number")
    return str(found)
