"""Attacks on the estimators: fit every clusterer to random tables, and check general laws."""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rekmeans import lloyd, load, save
from rekmeans.engines.reference import ReferenceRows
from rekmeans.estimators.placement import check_parameters, place_for_fit
from rekmeans.model import Stop

from .attack import Attack, register
from .table_cases import EXACT, FRAMES, FitCase, Generator, draw_fit, draw_given_starts

LONGEST_SENTENCE = 400  # characters of an error message
ROOM = 1e-9  # relative increase of a float objective that rounding may cause


class RefusedError(Exception):
    """The error raised for a case that is not supported, with a valid message."""


def fit_or_refuse(case: FitCase, **options: Any) -> Any:
    """Return the fitted model. Raise RefusedError if `fit` raises an error with a valid message."""
    try:
        return case.fit(**options)
    except (ValueError, TypeError) as error:
        text = str(error)
        assert text.endswith("."), f"the message does not end with a period: {text}"
        assert "\n" not in text, f"the message has several lines: {text}"
        assert len(text) <= LONGEST_SENTENCE, f"{len(text)} characters: {text[:200]}"
        raise RefusedError(text) from None


def skip_refused(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return the check with its RefusedError suppressed."""

    def checked(case: Any) -> None:
        try:
            check(case)
        except RefusedError:
            return

    return checked


def assert_same_fit(
    one: Any, two: Any, what: str, rows: Any = slice(None), columns: Any = slice(None)
) -> None:
    """Check that two fits have the same bits, where `two` has these rows and columns of `one`."""
    assert np.array_equal(one.labels_[rows], two.labels_), f"labels differ: {what}"
    assert np.array_equal(one.centroids_[..., columns], two.centroids_), f"centroids differ: {what}"
    assert one.inertia_ == two.inertia_, f"{one.inertia_!r} is not {two.inertia_!r}: {what}"
    assert one.n_iter_ == two.n_iter_, f"{one.n_iter_} passes, then {two.n_iter_}: {what}"


# every clusterer


def check_fit(case: FitCase) -> None:
    """Check that labels, objective and centroids are finite, consistent and reproducible."""
    model = fit_or_refuse(case)
    n = len(case.X)
    history = model.history_
    assert model.labels_.shape == (n,)
    is_empty = np.isnan(np.asarray(case.X, np.float64)).all(axis=1)
    labels = model.labels_[~is_empty]
    assert (model.labels_[is_empty] == -1).all(), "a row without a value has a label"
    assert 0 <= labels.min() <= labels.max() < case.k
    assert np.array_equal(model.predict(case.table()), model.labels_), "predict(X) is not labels_"
    assert np.isfinite(model.centroids_).all(), "centroids are not finite"
    assert np.isfinite(model.cluster_centers_).all(), "centres are not finite"
    assert model.inertia_ >= 0
    assert model.inertia_ == history["inertia"][-1]
    falls = history["inertia"]
    stage = history.get("stage", np.zeros(len(history["inertia"])))
    risen = (np.diff(falls) > ROOM * falls[:-1]) & (np.diff(stage) == 0)
    assert not risen.any(), f"the objective rises: {falls}"
    assert_same_fit(model, case.fit(), "fitted again")
    assert_same_fit(model, pickle.loads(pickle.dumps(model)), "pickled")


def check_threads(case: FitCase) -> None:
    """Check that threads do not change the bits, except in float products of BLAS."""
    one = fit_or_refuse(case, n_threads=1)
    if one.engine_ == "reference" and case.form not in EXACT:
        return
    for n_threads in (2, 5):
        assert_same_fit(one, case.fit(n_threads=n_threads), f"1 and {n_threads} threads")


def check_memory(case: FitCase) -> None:
    plenty = fit_or_refuse(case)
    for limit in (1, "20KB"):
        assert_same_fit(plenty, case.fit(memory_limit=limit), f"memory_limit={limit}")


# hard Euler clustering


def check_engines(case: FitCase) -> None:
    native = fit_or_refuse(case, engine="native")
    reference = case.fit(engine="reference")
    assert_same_fit(native, reference, "native and reference")
    assert np.array_equal(native.cluster_centers_, reference.cluster_centers_), "centres differ"
    assert np.array_equal(
        native.transform(case.table()), reference.transform(case.table()), equal_nan=True
    ), "distances differ"


def check_makes(case: FitCase) -> None:
    """Check that a table of any type gives the same fit as a plain array.

    Columns without any value are skipped in data frames and kept in arrays.
    """
    same = case.without_empty_columns() if case.make in FRAMES else case
    plain = same.change(make="array")
    assert_same_fit(fit_or_refuse(plain), case.fit(), f"an array and {case.make}")


def check_cuts(case: FitCase) -> None:
    """Check that the block borders of the reference engine do not change a fit."""
    model = fit_or_refuse(case, engine="reference")
    check_parameters(model)
    placed = place_for_fit(model, case.table(), case.weights)
    kernel = placed.model.kernel
    n = len(case.X)
    C = kernel.from_points(np.asarray(case.starts))
    cuts = np.unique(np.r_[0, np.random.default_rng(n).integers(0, n + 1, 5), n])
    rows = ReferenceRows(kernel, placed.table, cuts)
    fit = lloyd.run(rows, placed.model, C, Stop(model.max_iter, model.tol))
    assert np.array_equal(placed.table.mark_empty_rows(fit.labels), model.labels_), (
        f"labels differ with cuts {cuts}"
    )
    assert fit.inertia == model.inertia_, f"objectives differ with cuts {cuts}"


def check_weights(case: FitCase) -> None:
    """Check that integer weights are equivalent to repeated rows."""
    times = np.random.default_rng(len(case.X)).integers(0, 4, len(case.X))
    times[: case.k] = np.maximum(times[: case.k], 1)
    repeated = np.repeat(np.arange(len(case.X)), times)
    weighted = fit_or_refuse(case.change(weights=times))
    assert_same_fit(
        weighted,
        case.change(X=case.X[repeated], weights=None).fit(),
        "weights and rows",
        rows=repeated,
    )


def check_row_order(case: FitCase) -> None:
    """Check that shuffled rows give the same fit.

    Fits that relocate empty clusters are skipped, because ties depend on the order of the rows.
    """
    plain = fit_or_refuse(case)
    if plain.history_["n_relocated"].any():
        return
    order = np.random.default_rng(len(case.X)).permutation(len(case.X))
    weights = None if case.weights is None else case.weights[order]
    shuffled = case.change(X=case.X[order], weights=weights).fit()
    assert_same_fit(plain, shuffled, "shuffled rows", rows=order)


def check_column_order(case: FitCase) -> None:
    plain = fit_or_refuse(case)
    order = np.random.default_rng(len(case.X)).permutation(case.X.shape[1])
    shuffled = case.change(X=case.X[:, order], starts=np.asarray(case.starts)[:, order]).fit()
    assert_same_fit(plain, shuffled, "shuffled columns", columns=order)


def check_model_file(case: FitCase) -> None:
    model = fit_or_refuse(case)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        path = Path(folder) / "model.safetensors"
        save(model, path, labels=True)
        again = load(path)
    assert_same_fit(model, again, "saved and loaded")
    assert np.array_equal(again.predict(case.table()), model.labels_), (
        "a loaded model predicts different labels"
    )


def draw_exact(rng: Generator) -> FitCase:
    return draw_fit(rng, tuple(EXACT))


def draw_exact_numbers(rng: Generator) -> FitCase:
    """Draw a hard Euler fit of values that every table type supports."""
    return draw_fit(rng, tuple(EXACT), is_hostile=False)


def draw_array(rng: Generator) -> FitCase:
    return draw_fit(rng).change(make="array")


for name, draw, check, n_cases in (
    ("tables.fit", draw_fit, check_fit, 1500),
    ("tables.threads", draw_fit, check_threads, 300),
    ("tables.memory", draw_array, check_memory, 300),
    ("tables.engines", draw_exact, check_engines, 400),
    ("tables.makes", draw_exact_numbers, check_makes, 400),
    ("tables.cuts", draw_given_starts, check_cuts, 300),
    ("tables.weights", draw_given_starts, check_weights, 400),
    ("tables.row_order", draw_given_starts, check_row_order, 400),
    ("tables.column_order", draw_given_starts, check_column_order, 400),
    ("tables.model_files", draw_exact, check_model_file, 200),
):
    register(Attack(name, draw, skip_refused(check), n_cases))
