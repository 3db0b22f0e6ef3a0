"""The files of a table in parquet as one pyarrow dataset: their columns compared, their number
types united.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ..regular_file import check_regular_file
from .file_names import is_several_files, table_files

try:
    import pyarrow as pa
    from pyarrow import dataset, types
except ImportError:
    raise ImportError("parquet files need pyarrow: pip install 'rekmeans[stream]'.") from None

SHOWN = 120  # letters of a message of pyarrow's


def open_dataset(name: str, drop: Collection[str] = (), only: Collection[str] | None = None) -> Any:
    """The pyarrow dataset of a parquet file, of the files in a folder, or of those that a pattern
    names.

    Each file is asked once for its columns; those of `drop`, or beside `only`, are not compared.
    Numbers of several types are read as the type that holds them all.
    """
    files = table_files(name)
    if not files:
        raise FileNotFoundError(
            f"{name} names no file: name a parquet file, a folder of them, or a pattern."
        )
    for file in files:
        check_regular_file(file)
    data = _open_files(name, files)
    schemas = {fragment.path: _read_schema(name, fragment) for fragment in data.get_fragments()}
    names = {name for schema in schemas.values() for name in schema.names}
    return data.replace_schema(
        _common_schema(schemas, (names if only is None else set(only)) - set(drop))
    )


def _open_files(name: str, files: list[str]) -> Any:
    """The dataset of these files, of which the first must be parquet to be read at all."""
    try:
        return dataset.dataset(files, format="parquet", schema=pa.schema([]))
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(name, name, error) from error


def _read_schema(name: str, fragment: Any) -> Any:
    """The columns of one file, from its footer."""
    try:
        schema = fragment.physical_schema
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(name, fragment.path, error) from error
    if twice := [column for column in schema.names if schema.names.count(column) > 1]:
        raise ValueError(
            f"{fragment.path} must have different column names, got {twice[0]!r} twice: rename one."
        )
    return schema


def _not_parquet(name: str, file: str, error: Exception) -> ValueError:
    reason = shorten(str(error), SHOWN, placeholder="…").rstrip(".")
    way_out = f"; a pattern leaves it out: {name}/*.parquet" if Path(name).is_dir() else ""
    which = f": {file}" if is_several_files(name) else ""
    return ValueError(
        f"{name} must be a parquet file, a folder of them or a pattern{which} ({reason}){way_out}."
    )


def _common_schema(schemas: dict[str, Any], compared: Collection[str]) -> Any:
    """The columns of all files; one of numbers that is compared must be in each of them."""
    kinds: dict[str, dict[str, Any]] = {}  # of each column by file
    for file, schema in schemas.items():
        for field in schema:
            kinds.setdefault(field.name, {})[file] = field.type
    common = []
    for name, of_files in kinds.items():
        if name not in compared:
            common.append((name, next(iter(of_files.values()))))
            continue
        common.append((name, _common_type(name, of_files)))
        if len(of_files) < len(schemas) and is_number_type(common[-1][1]):
            absent = next(file for file in schemas if file not in of_files)
            present = next(iter(of_files))
            raise ValueError(
                f"X must have the same columns in every file, {name!r} is in {present} and not in "
                f"{absent}: "
                f"write it there too, or drop it from all."
            )
    return pa.schema(common)


def _common_type(name: str, of_files: dict[str, Any]) -> Any:
    """The type that holds the values of a column in all files."""
    found: dict[Any, str] = {}  # and the first file that has it
    for file, kind in of_files.items():
        found.setdefault(kind, file)
    kinds = [kind for kind in found if not types.is_null(kind)]
    numbers, others = (
        [kind for kind in kinds if is_number_type(kind) is of_numbers]
        for of_numbers in (True, False)
    )
    if numbers and others:
        raise ValueError(
            f"X must have the same columns in every file, {name!r} is {numbers[0]} in "
            f"{found[numbers[0]]} and "
            f"{others[0]} in {found[others[0]]}: write it as numbers, or drop it."
        )
    return others[0] if others else _common_number_type(numbers or [pa.null()])


def _common_number_type(kinds: list[Any]) -> Any:
    """The least number type that holds these; float64 where none does."""
    if len(kinds) == 1:
        return kinds[0]
    if any(types.is_decimal(kind) for kind in kinds):
        return pa.float64()
    dtype = np.result_type(*(kind.to_pandas_dtype() for kind in kinds))
    # integers are cast to no half float
    return pa.float32() if dtype == np.float16 else pa.from_numpy_dtype(dtype)


def is_number_type(kind: Any) -> bool:
    """Whether a column of this type holds numbers; one without any value does."""
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)
