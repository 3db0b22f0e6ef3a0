"""What tells a fit from others when it goes on from a checkpoint, and what its starts are drawn with."""

from __future__ import annotations

import functools
import hashlib
import numbers
import types
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..table import Table
from .placement import Placement

WITHOUT_INFLUENCE = (
    "checkpoint",
    "verbose",
    "n_threads",
    "memory_limit",
    "half_life",
    "engine",
)  # the engine itself is compared
SAMPLE_ROWS_COMPARED, SAMPLE_SEED = 1000, 0  # of the sample that stands for the table
DIGEST_SHOWN, LONGEST_VALUE = 16, 100  # letters


class StartDraws(NamedTuple):
    """What the starts of a fit are drawn with, and how many of them an interrupted fit has begun."""

    random: np.random.RandomState | None  # for a callable init, where the user gives one
    entropy: list[int]
    n_begun: int = 0

    def random_state(self) -> np.random.RandomState:
        """What a callable init draws with: the user's own, or one that a fit that goes on has again."""
        if self.random is not None:
            return self.random
        return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(self.entropy)))


def fit_identity(estimator: Any, placed: Placement) -> dict[str, str]:
    """What an interrupted fit and the one that goes on must have in common, as text."""
    parameters = {
        name: _value_text(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in WITHOUT_INFLUENCE
    }
    if not isinstance(estimator.random_state, numbers.Integral):
        parameters["random_state"] = "not an integer"
    table = placed.table
    names = table.columns.get("feature_names_in_", [])
    return {
        "estimator": type(estimator).__name__,
        **parameters,
        "engine": placed.engine,
        "number of rows": str(table.n_rows),
        "number of columns": str(table.n_columns),
        "column names": _digest(*(str(name).encode() + b"\n" for name in names)),
        "sample of rows": _sample_digest(table),
    }


def _value_text(value: Any, within: tuple[Any, ...] = ()) -> str:
    """A parameter as text: numbers by their value, a digest of an array or of what a function does."""
    if callable(value):
        return "itself" if any(value is one for one in within) else _callable_text(value, (*within, value))
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else str(value)
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return f"{array.shape} {_digest(str(array.dtype).encode(), np.ascontiguousarray(array).tobytes())}"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else _digest(text.encode())


def _callable_text(value: Any, within: tuple[Any, ...]) -> str:
    """The name of a function with a digest of its code, its defaults and what it has from outside."""
    name = str(getattr(value, "__qualname__", type(value).__qualname__))
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        outside = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *cells]
        texts = [_code_text(value.__code__)]
    elif isinstance(value, types.MethodType):
        outside, texts = [value.__func__, *getattr(value.__self__, "__dict__", {}).values()], []
    elif isinstance(value, functools.partial):
        outside, texts = [value.func, *value.args, *value.keywords.values()], [*value.keywords]
    else:  # a class, or an object that can be called
        outside = [] if isinstance(value, type) else list(getattr(value, "__dict__", {}).values())
        texts = [str(getattr(value, "__module__", ""))]
    texts += [_value_text(part, within) for part in outside]
    return f"{name} {_digest(*(text.encode() for text in texts))}"


def _code_text(code: types.CodeType) -> str:
    """What a function does, wherever it is written."""
    return repr((code.co_code, code.co_names, [_constant_text(part) for part in code.co_consts]))


def _constant_text(value: Any) -> str:
    if isinstance(value, types.CodeType):
        return _code_text(value)
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)  # sets have no order


def _sample_digest(table: Table) -> str:
    """The digest of a small sample of the rows, by the one rule of draws, and of their weights."""
    sample: Any = table.sample(SAMPLE_ROWS_COMPARED, SAMPLE_SEED)
    rows = sample.X
    parts = [rows.data, rows.indices, rows.indptr] if sparse.issparse(rows) else [sample.dense()]
    weights = [] if sample.weights is None else [sample.weights]
    return _digest(*(np.ascontiguousarray(part, np.float64).tobytes() for part in [*parts, *weights]))


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:DIGEST_SHOWN]
