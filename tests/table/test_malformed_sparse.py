"""Sparse tables with inconsistent arrays raise an error; they once crashed the process."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from fuzz.sparse_tables import BROKEN, COO_BROKEN, VALID, in_child
from rekmeans import RectifiedEulerKMeans
from rekmeans.table.validation import as_rows

X = np.where(
    np.random.default_rng(0).random((12, 6)) < 0.5,
    np.random.default_rng(1).normal(size=(12, 6)),
    0.0,
)
FORMATS = {
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "bsr": lambda X: sparse.bsr_array(X, blocksize=(2, 3)),
    "coo": sparse.coo_array,
}
CASES = [(kind, damage) for kind in FORMATS for damage in (COO_BROKEN if kind == "coo" else BROKEN)]


def answer(table):
    try:
        return as_rows(table).toarray()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(("kind", "damage"), CASES)
def test_damaged_arrays_are_refused_or_are_a_table_still(kind, damage):
    """Run in a child process, because a table that is not rejected may crash it."""
    for seed in range(8):
        table = FORMATS[kind](X)
        BROKEN[damage](np.random.default_rng(seed), table)
        said = in_child(lambda table=table: answer(table))
        if isinstance(said, str):
            assert said.endswith((". Create it again.", "Use NaN for missing values.")), said


@pytest.mark.parametrize("damage", VALID)
@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_what_a_table_says_of_itself_is_not_believed(kind, damage):
    table = FORMATS[kind](X)
    VALID[damage](np.random.default_rng(0), table)
    before = table.data.copy(), table.indices.copy(), table.indptr.copy()
    assert_array_equal(as_rows(table).toarray(), X)
    for one, two in zip(before, (table.data, table.indices, table.indptr), strict=True):
        assert_array_equal(one, two)
    one, two = (RectifiedEulerKMeans(3, random_state=0).fit(rows) for rows in (table, X))
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.predict(table), two.labels_)


@pytest.mark.parametrize("kind", ["lil", "dok", "dia"])
def test_other_formats_are_taken(kind):
    assert_array_equal(as_rows(sparse.coo_array(X).asformat(kind)).toarray(), X)


def test_a_plain_csr_table_is_not_copied():
    table = sparse.csr_array(X)
    assert np.shares_memory(as_rows(table).data, table.data)
