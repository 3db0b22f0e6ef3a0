"""Convert records to JSON values and named arrays, and back, for checkpoints and model files."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from ._grid import Array
from .tensor_file import NAMES

OWN_PACKAGE = __name__.split(".")[0]
LIMB = 32  # bits per limb of a long integer
MAX_LIMBS = 16  # maximum limbs of an integer; sums have at most eight
SPARSE: dict[str, Any] = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}  # not representable in JSON
Plain = Any  # a JSON value


@dataclass(frozen=True)
class Codec:
    """The record types that one kind of file may contain.

    A record is a frozen dataclass or a named tuple. It is stored as the name of its type and its
    fields. A name of any other type raises an error, so reading a file only creates objects of the
    listed types. Fields that are missing in a file get their defaults. Values are checked
    against the type hints of the fields. The method `check_record()` of a record raises ValueError
    for values that no fit produces.
    """

    records: tuple[type, ...] = ()
    # subclasses of these are records too, so kernels of other packages need no registration
    families: tuple[type, ...] = ()

    def to_record(self, values: Mapping[str, Any]) -> tuple[dict[str, Plain], dict[str, Array]]:
        """Return JSON values with the same names, and the arrays they refer to."""
        encoder = _Encoder(self, {}, {})
        plain = {name: encoder.encode(value, name) for name, value in values.items()}
        return plain, encoder.arrays

    def from_record(
        self, plain: Mapping[str, Plain], arrays: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Return the values; raise ValueError for anything that `to_record` cannot produce."""
        decoder = _Decoder(self.types(), arrays, set())
        try:
            values = {name: decoder.decode(value) for name, value in plain.items()}
        except (TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(f"a record is malformed: {error!s:.80}") from None
        if unused := sorted(arrays.keys() - decoder.used):
            raise ValueError(f"{unused[0]:.40} is an array that no record uses")
        return values

    def types(self) -> dict[str, type]:
        """Return the record types by name. If names repeat, the last definition wins."""
        found = {}
        waiting = list(self.families)
        while waiting:
            kind = waiting.pop(0)
            found[self.name(kind)] = kind
            waiting += kind.__subclasses__()
        return found | {self.name(kind): kind for kind in self.records}

    def name(self, kind: type) -> str:
        """Return the name of a record type. Subclasses of a family may be in other packages."""
        is_own = kind in self.records or kind.__module__.split(".")[0] == OWN_PACKAGE
        return kind.__name__ if is_own else f"{kind.__module__}.{kind.__qualname__}"

    def contains(self, kind: type) -> bool:
        """Return whether a type is one of the records."""
        return kind in self.records or issubclass(kind, self.families)


@dataclass
class _Encoder:
    codec: Codec
    arrays: dict[str, Array]
    names: dict[int, tuple[str, Any]]  # keyed by id(array); holds a reference to it

    def encode(self, value: Any, name: str) -> Plain:
        """Return the JSON form of a value. Its arrays are stored under `name`."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            return self.encode(value.item(), name)
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if sparse.issparse(value):
            return self._sparse(value, name)
        if self.codec.contains(type(value)):
            parts = ((field, getattr(value, field)) for field in _field_names(type(value)))
            return {
                "record": self.codec.name(type(value)),
                "fields": {field: self.encode(part, f"{name}.{field}") for field, part in parts},
            }
        if isinstance(value, Mapping):
            return {"table": {key: self.encode(one, f"{name}.{key}") for key, one in value.items()}}
        if isinstance(value, list):
            return [self.encode(one, f"{name}.{i}") for i, one in enumerate(value)]
        if isinstance(value, Sequence):
            if columns := self._columns(value, name):
                return columns
            return {"tuple": [self.encode(one, f"{name}.{i}") for i, one in enumerate(value)]}
        raise TypeError(f"cannot store {name} of type {type(value).__name__} in a file")

    def _array(self, values: Array, name: str) -> Plain:
        if values.dtype == object:
            return {"integers": self._store(_to_limbs(values), name)}
        if values.dtype.newbyteorder("<") not in NAMES:
            raise TypeError(f"cannot store {name}, an array of dtype {values.dtype}, in a file")
        if values.ndim > 1 and values.flags.f_contiguous and not values.flags.c_contiguous:
            # the memory layout affects the last bit of matrix products
            return {"columns": self._store(values.T, name)}
        return {"array": self._store(values, name)}

    def _store(self, values: Array, name: str) -> str:
        """Return the name of an array. An array shared by several records is stored once."""
        if id(values) not in self.names:
            while name in self.arrays:  # keys of a dict may contain dots
                name += "'"
            self.names[id(values)] = (name, values)
            self.arrays[name] = values
        return self.names[id(values)][0]

    def _sparse(self, value: Any, name: str) -> Plain:
        kind = type(value).__name__
        if kind not in SPARSE:
            raise TypeError(f"cannot store {name} of type {kind} in a file")
        parts = {part: getattr(value, part) for part in ("data", "indices", "indptr")}
        return {
            "sparse": kind,
            "shape": [int(side) for side in value.shape],
            **{part: self._array(values, f"{name}.{part}") for part, values in parts.items()},
        }

    def _columns(self, records: Sequence[Any], name: str) -> Plain:
        """Return a list of numeric records as one array per field, or None for other values."""
        kinds = {type(record) for record in records}
        kind = next(iter(kinds), object)
        if len(kinds) != 1 or not self.codec.contains(kind):
            return None
        columns = {}
        for field in _field_names(kind):
            found = (getattr(record, field) for record in records)
            values = [one.item() if isinstance(one, np.generic) else one for one in found]
            if all(type(value) is int for value in values):
                column = np.array(values, object)
                fits = all(-(2**63) <= value < 2**63 for value in values)
                columns[field] = column.astype(np.int64) if fits else column
            elif all(type(value) is float for value in values):
                columns[field] = np.array(values)
            else:
                return None
        if not columns:
            return None
        arrays = {key: self._array(column, f"{name}.{key}") for key, column in columns.items()}
        return {"records": self.codec.name(kind), "columns": arrays}


@dataclass
class _Decoder:
    types: dict[str, type]
    arrays: Mapping[str, Array]
    used: set[str]

    def decode(self, plain: Plain) -> Any:
        if plain is None or isinstance(plain, bool | str | float):
            return plain
        if isinstance(plain, int):
            if plain.bit_length() > LIMB * MAX_LIMBS:
                raise ValueError(f"an integer has {plain.bit_length()} bits")
            return plain
        if isinstance(plain, list):
            return [self.decode(one) for one in plain]
        key = next(iter(plain), "")
        forms: dict[tuple[str, ...], Callable[..., Any]] = {
            ("float",): self._float,
            ("array",): self._array,
            ("columns",): self._array_by_columns,
            ("integers",): self._integers,
            ("tuple",): self._tuple,
            ("table",): self._table,
            ("record", "fields"): self._record,
            ("records", "columns"): self._records,
            ("sparse", "shape", "data", "indices", "indptr"): self._sparse,
        }
        form = forms.get(tuple(plain))
        if form is None:
            raise ValueError(f"a value has the unknown encoding {key!r:.40}")
        return form(*plain.values())

    def _float(self, text: Plain) -> float:
        return NOT_FINITE[text]

    def _array(self, name: Plain) -> Array:
        self.used.add(name)
        return self.arrays[name]

    def _array_by_columns(self, name: Plain) -> Array:
        return self._array(name).T

    def _integers(self, name: Plain) -> Array:
        return _from_limbs(self._array(name))

    def _tuple(self, items: Plain) -> tuple[Any, ...]:
        _expect(isinstance(items, list), "a stored tuple is not a list")
        return tuple(self.decode(one) for one in items)

    def _table(self, items: Plain) -> dict[str, Any]:
        return {key: self.decode(one) for key, one in items.items()}

    def _record(self, kind: Plain, parts: Plain) -> Any:
        return self._make(kind, {name: self.decode(part) for name, part in parts.items()})

    def _records(self, kind: Plain, columns: Plain) -> tuple[Any, ...]:
        decoded = {name: self.decode(column) for name, column in columns.items()}
        lengths = {column.shape for column in decoded.values()}
        _expect(
            len(lengths) == 1 and len(next(iter(lengths))) == 1, "columns have different lengths"
        )
        rows = zip(*(column.tolist() for column in decoded.values()), strict=True)
        return tuple(self._make(kind, dict(zip(decoded, row, strict=True))) for row in rows)

    def _sparse(self, kind: Plain, shape: Plain, data: Plain, indices: Plain, ends: Plain) -> Any:
        parts = tuple(self.decode(part) for part in (data, indices, ends))
        _expect(
            isinstance(shape, list)
            and len(shape) == 2
            and all(type(side) is int and 0 <= side < 2**31 for side in shape)
            and all(part.ndim == 1 and part.dtype.kind in "if" for part in parts)
            and all(part.dtype.kind == "i" for part in parts[1:])
            and len(parts[2]) == shape[0] + 1,
            "a sparse array is malformed",
        )
        found = SPARSE[kind](parts, shape=tuple(shape))
        found.check_format(full_check=True)
        return found

    def _make(self, name: Plain, values: dict[str, Any]) -> Any:
        """Create a record of a listed type from its fields."""
        kind = self.types.get(name) if isinstance(name, str) else None
        if kind is None or not (is_dataclass(kind) or hasattr(kind, "_fields")):
            raise ValueError(f"{name!r:.60} is not a record type of this file")
        known = _field_names(kind)
        if unknown := sorted(values.keys() - set(known)):
            raise ValueError(f"{name} has no field {unknown[0]:.40}")
        if missing := [field for field in _required_fields(kind) if field not in values]:
            raise ValueError(f"{name} is missing the field {missing[0]}")
        hints = _hints(kind)
        for field, value in values.items():
            if not _fits(value, hints.get(field, Any)):
                raise ValueError(f"{field} of {name} has the wrong type {type(value).__name__}")
        record = kind(**values)
        check = getattr(record, "check_record", None)
        if check is not None:
            check()
        return record


def _expect(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _field_names(kind: Any) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return tuple(kind._fields)


def _required_fields(kind: Any) -> Iterator[str]:
    """Yield the names of the fields without a default."""
    if not is_dataclass(kind):
        yield from (name for name in kind._fields if name not in kind._field_defaults)
        return
    yield from (field.name for field in fields(kind) if not _has_default(field))


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _hints(kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError:  # a local class of another package: only `check_record` applies
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a decoded value has the type of a field."""
    if hint is Any:
        return True
    origin = get_origin(hint)
    parts = get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if hint is float:
        return type(value) in (int, float)
    if hint in (int, bool, str):
        return type(value) is hint
    if hint is None:
        return value is None
    if origin in (tuple, Sequence):
        items = parts[:1] * len(value) if origin is Sequence or parts[-1] is ... else parts
        return (
            isinstance(value, tuple)
            and len(items) == len(value)
            and all(_fits(one, item) for one, item in zip(value, items, strict=True))
        )
    kind = origin or hint
    return not isinstance(kind, type) or isinstance(value, kind)


def _to_limbs(values: Array) -> Array:
    """Return integers of any length as two's complement, (..., limbs), the lowest limb first."""
    flat = [int(value) for value in values.ravel()]
    bits = max((value.bit_length() for value in flat), default=0) + 1
    n = -(-bits // LIMB)
    size = n * LIMB // 8
    data = b"".join(value.to_bytes(size, "little", signed=True) for value in flat)
    return np.frombuffer(data, "<u4").reshape(*values.shape, n)


def _from_limbs(limbs: Array) -> Array:
    _expect(
        limbs.dtype == np.uint32 and limbs.ndim > 0 and 1 <= limbs.shape[-1] <= MAX_LIMBS,
        "integers are malformed",
    )
    rows = np.ascontiguousarray(limbs, "<u4").reshape(-1, limbs.shape[-1])
    values = np.empty(len(rows), object)
    values[:] = [int.from_bytes(row.tobytes(), "little", signed=True) for row in rows]
    return values.reshape(limbs.shape[:-1])
