"""The codec restores values bit for bit and creates only objects of registered types."""

import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rekmeans import checkpoint
from rekmeans.assignment import Fuzzy, Hard, NeuralGas, SomNeighbourhood
from rekmeans.codec import Codec
from rekmeans.estimators import fitted_state
from rekmeans.kernels import Kernel
from rekmeans.kernels.points import Linear
from rekmeans.model import Centroids, Pass, Points, State
from rekmeans.scales import range_scale
from rekmeans.table import MemoryTable
from support.assertions import raises_mentioning
from support.model_files import assert_same


class Pair(NamedTuple):
    one: int
    two: float = 0.5


@dataclass(frozen=True)
class Checked:
    count: int
    parts: tuple[Pair, ...] = ()
    name: str | None = None
    anything: Any = None

    def check_record(self):
        if self.count < 0:
            raise ValueError("count must not be negative")


CODEC = Codec((Pair, Checked, Pass, State, Hard, Fuzzy, NeuralGas, SomNeighbourhood))


def through_text(codec, values):
    """Return the values after encoding them to JSON and arrays, and decoding them."""
    plain, arrays = codec.to_record(values)
    return codec.from_record(json.loads(json.dumps(plain, allow_nan=False)), arrays)


RANDOM = np.random.default_rng(0)
VALUES = {
    "nothing": None,
    "truth": True,
    "text": "größe\n\x00",
    "an integer of 200 bits": -(2**200) + 1,
    "a number": 0.1 + 0.2,
    "minus zero": -0.0,
    "the least number": 5e-324,
    "infinity": -math.inf,
    "NaN": math.nan,
    "a tuple in a list": [1, (2.0, ["x", ()]), []],
    "a table": {"a.b": np.ones(2), "a": {"b": np.zeros(3)}},
    "float64": RANDOM.normal(size=(3, 4)),
    "by columns": np.asfortranarray(RANDOM.normal(size=(3, 4))),
    "strided": RANDOM.normal(size=(6, 8))[::2, ::-2],
    "read-only": np.broadcast_to(np.eye(2), (3, 2, 2)),
    "int32": RANDOM.integers(-9, 9, (2, 1, 5)).astype(np.int32),
    "truths": RANDOM.random(9) < 0.5,
    "no rows": np.empty((0, 3)),
    "one number": np.array(2.5),
    "integers of any length": np.array([[1, -1, 0], [2**90, -(2**90), 2**63]], object),
    "csr_array": sparse.random_array((5, 4), density=0.4, rng=0, format="csr"),
    "csr_matrix": sparse.csr_matrix(np.eye(3)),
    "a record": Checked(3, (Pair(1, 2.0), Pair(2**70, 3.0)), "x", np.arange(3)),
    "a record of records": Checked(1, anything=Checked(2, anything=(Checked(3),))),
    "passes": tuple(Pass(2**80 + i, i, 0, i / 7) for i in range(5)),
    "passes of two kinds": (Pass(1, 2, 3, 0.5), Pass(1.5, 2, 3, 0.5)),
    "rules": (Hard(), Fuzzy(1.5), NeuralGas(0.3), SomNeighbourhood((2, 3), 0.5)),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_comes_back_with_every_bit(value):
    assert_same(through_text(CODEC, {"value": value})["value"], value)


def test_the_order_in_memory_comes_back():
    for value in (np.ones((3, 4)), np.asfortranarray(np.ones((3, 4)))):
        again = through_text(CODEC, {"value": value})["value"]
        assert again.flags.c_contiguous == value.flags.c_contiguous
        assert again.flags.f_contiguous == value.flags.f_contiguous


def test_minus_zero_keeps_its_sign():
    assert math.copysign(1, through_text(CODEC, {"value": -0.0})["value"]) == -1


def test_numbers_of_numpy_come_back_as_numbers():
    values = {"a": np.float64(0.1), "b": np.int32(3), "c": np.bool_(True)}
    assert_same(through_text(CODEC, values), {"a": 0.1, "b": 3, "c": True})


def test_an_array_that_records_share_is_stored_once():
    shared = np.arange(4.0)
    plain, arrays = CODEC.to_record({"one": shared, "two": Checked(1, anything=(shared, shared))})
    assert list(arrays) == ["one"]
    assert_array_equal(CODEC.from_record(plain, arrays)["two"].anything[1], shared)


def test_keys_with_dots_do_not_mix_up_arrays():
    value = {"a": {"b": np.zeros(1)}, "a.b": np.ones(2)}
    assert_same(through_text(CODEC, {"value": value})["value"], value)


def test_many_records_of_numbers_take_an_array_for_each_field():
    passes = tuple(Pass(float(i), i, 0, 0.1) for i in range(100_000))
    plain, arrays = CODEC.to_record({"passes": passes})
    assert len(json.dumps(plain)) < 300
    assert {name: len(values) for name, values in arrays.items()} == {
        f"passes.{field}": 100_000 for field in ("loss", "n_changed", "n_relocated", "seconds")
    }


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, sparse.coo_array(np.eye(2)), 1j, np.array([1j]), np.float16([1])]
)
def test_what_a_file_cannot_hold_is_an_error_when_it_is_written(value):
    with raises_mentioning(TypeError, "cannot store value.x"):
        CODEC.to_record({"value": {"x": value}})


# only registered types


class Bomb:
    """A class that counts its instances."""

    made = 0

    def __init__(self, *args, **kwargs):
        Bomb.made += 1


@dataclass
class DataBomb:
    x: int = 0

    def __post_init__(self):
        Bomb.made += 1


class BombOfCentroids(Centroids):
    """A record that is registered only for centroids."""

    def __post_init__(self):
        Bomb.made += 1


CODECS = {"codec": CODEC, "checkpoints": checkpoint.CODEC, "models": fitted_state.CODEC}
FOREIGN = ["Bomb", "DataBomb", "tests.test_codec.DataBomb", "Popen", "object", "type", "dict"]


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("name", [*FOREIGN, "RectifiedEulerKMeans", "State ", "state", ""])
def test_a_class_that_is_not_listed_is_never_instantiated(codec, name):
    for form in ({"record": name, "fields": {}}, {"records": name, "columns": {"x": [1]}}):
        with pytest.raises(
            ValueError, match=r"not a record type of this file|malformed|differ in length"
        ):
            codec.from_record({"value": form}, {})
    column = {"records": name, "columns": {"x": {"array": "x"}}}
    with raises_mentioning(ValueError, "is not a record type of this file"):
        codec.from_record({"value": column}, {"x": np.arange(3)})
    assert Bomb.made == 0


@pytest.mark.parametrize("name", [None, 1, ["State"], {"a": 1}, True])
def test_a_name_that_is_no_text_is_refused(name):
    with raises_mentioning(ValueError, "is not a record type of this file"):
        CODEC.from_record({"value": {"record": name, "fields": {}}}, {})


def test_each_kind_of_file_has_types_of_its_own():
    scale = range_scale(MemoryTable(np.eye(2), None).column_summary())
    kernel = fitted_state.CODEC.to_record({"value": Linear(scale)})
    assert isinstance(fitted_state.CODEC.from_record(*kernel)["value"], Linear)
    with raises_mentioning(ValueError, "'Scale' is not a record type of this file"):
        checkpoint.CODEC.from_record(*kernel)
    plain = {"value": {"record": "BombOfCentroids", "fields": {}}}
    with raises_mentioning(ValueError, "is not a record type of this file"):
        CODEC.from_record(plain, {})
    assert Bomb.made == 0


def test_subclasses_of_a_family_are_records_wherever_they_are_defined():
    @dataclass(frozen=True, eq=False)
    class Foreign(Points):
        more: np.ndarray

    class Scale(Points):
        """A class with the same name as one of this package."""

    value = Foreign(np.ones((2, 3)), np.zeros(2))
    assert_same(through_text(checkpoint.CODEC, {"value": value})["value"], value)
    value = Scale(np.ones((2, 3)))
    assert_same(through_text(fitted_state.CODEC, {"value": value})["value"], value)
    assert fitted_state.CODEC.types()["Scale"] is not Scale
    assert Kernel in fitted_state.CODEC.families


@pytest.mark.parametrize("codec", [checkpoint.CODEC, fitted_state.CODEC])
def test_the_records_of_this_package_have_names_of_their_own(codec):
    kinds = set(codec.records)
    waiting = list(codec.families)
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        kinds |= {kind} if kind.__module__.startswith("rekmeans.") else set()
    assert len({codec.name(kind) for kind in kinds}) == len(kinds)


# malformed records

RECORD = {"record": "Checked", "fields": {"count": 1}}


def checked(**fields):
    return RECORD | {"fields": RECORD["fields"] | fields}


PAIRS = {"records": "Pair", "columns": {"one": {"array": "i"}, "two": {"array": "f"}}}
SPARSE = {
    "sparse": "csr_array",
    "shape": [2, 2],
    "data": {"array": "f"},
    "indices": {"array": "i"},
    "indptr": {"array": "ends"},
}
ARRAYS = {
    "i": np.array([0, 1]),
    "f": np.array([0.5, 1.5]),
    "ends": np.array([0, 1, 2]),
    "u": np.array([[1, 2]], np.uint32),
}
MALFORMED = {
    "an empty table": ({}, "unknown encoding"),
    "two forms": ({"array": "i", "float": "inf"}, "unknown encoding"),
    "another order": (dict(reversed(RECORD.items())), "unknown encoding 'fields'"),
    "an unknown number": ({"float": "1e5"}, "malformed"),
    "an unknown array": ({"array": "x"}, "malformed"),
    "an array by a list": ({"array": ["i"]}, "malformed"),
    "a tuple of text": ({"tuple": "abc"}, "a stored tuple is not a list"),
    "a table that is a list": ({"table": [1]}, "malformed"),
    "fields in a list": ({"record": "Checked", "fields": [1]}, "malformed"),
    "a field too many": (checked(x=1), "Checked has no field x"),
    "a private field": (checked(__class__="x"), "Checked has no field __class__"),
    "a field too few": ({"record": "Checked", "fields": {}}, "Checked is missing the field count"),
    "text for a number": (checked(count="1"), "count of Checked has the wrong type str"),
    "a truth for a number": (checked(count=True), "count of Checked has the wrong type bool"),
    "a real number for an integer": (
        checked(count=1.0),
        "count of Checked has the wrong type float",
    ),
    "a list for a tuple": (checked(parts=[]), "parts of Checked has the wrong type list"),
    "other parts": (checked(parts={"tuple": [1]}), "parts of Checked has the wrong type tuple"),
    "a number for text": (checked(name=3), "name of Checked has the wrong type int"),
    "a value against its rule": (checked(count=-1), "count must not be negative"),
    "an endless integer": (1 << 600, "an integer has 601 bits"),
    "columns of two lengths": (
        PAIRS | {"columns": {"one": {"array": "ends"}, "two": {"array": "f"}}},
        "columns have different lengths",
    ),
    "a column that is a number": (PAIRS | {"columns": {"one": 1}}, "malformed"),
    "a column of another type": (
        PAIRS | {"columns": {"one": {"array": "f"}}},
        "one of Pair has the wrong type float",
    ),
    "no columns": (PAIRS | {"columns": {}}, "columns have different lengths"),
    "limbs that are signed": ({"integers": "i"}, "integers are malformed"),
    "another sparse array": (SPARSE | {"sparse": "coo_array"}, "malformed"),
    "a negative shape": (SPARSE | {"shape": [2, -2]}, "a sparse array is malformed"),
    "a giant shape": (SPARSE | {"shape": [2**40, 2]}, "a sparse array is malformed"),
    "rows outside": (SPARSE | {"shape": [2, 1]}, "indices must be < 1"),
    "ends that are real": (SPARSE | {"indptr": {"array": "f"}}, "a sparse array is malformed"),
}


@pytest.mark.parametrize(("plain", "words"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_record_is_a_value_error(plain, words):
    with pytest.raises(ValueError, match=words):
        CODEC.from_record({"value": plain}, ARRAYS)


def test_a_deep_record_is_a_value_error():
    plain = []
    for _ in range(5000):
        plain = [plain]
    with raises_mentioning(ValueError, "malformed"):
        CODEC.from_record({"value": plain}, {})


def test_an_array_of_no_record_is_a_value_error():
    with raises_mentioning(ValueError, "u is an array that no record uses"):
        CODEC.from_record({name: {"array": name} for name in ARRAYS if name != "u"}, ARRAYS)


def test_a_field_that_a_file_lacks_has_its_default():
    found = CODEC.from_record({"value": {"record": "Pair", "fields": {"one": 2}}}, {})["value"]
    assert found == Pair(2, 0.5)
