"""Models that were fitted on an engine which the machine that loads them lacks, or which takes
other tables.
"""

import pytest
from dask import array
from numpy.testing import assert_array_equal

from rekmeans import RectifiedEulerKMeans, load, save
from rekmeans.engines import ENGINES
from support.assertions import raises_mentioning
from support.streams import stream_rows

X = stream_rows()

pytestmark = pytest.mark.filterwarnings("ignore::rekmeans.scales.left_out.IgnoredValuesWarning")


@pytest.fixture
def fitted():
    return RectifiedEulerKMeans(3, random_state=0).fit(X)


def saved_and_loaded(model, folder):
    save(model, folder / "model.safetensors")
    return load(folder / "model.safetensors")


def without(monkeypatch, name, words):
    monkeypatch.setattr(type(ENGINES[name]), "missing", lambda self: words)


def assert_same_answers(one, two, rows):
    for answer in ("predict", "transform", "score_samples"):
        assert_array_equal(getattr(one, answer)(rows), getattr(two, answer)(rows))
    assert one.score(rows) == two.score(rows)


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_model_of_dask_predicts_rows_in_memory(tmp_path, monkeypatch, fitted, is_installed):
    lazy = RectifiedEulerKMeans(3, random_state=0, engine="dask").fit(
        array.from_array(X, chunks=(200, 3))
    )
    if not is_installed:
        lazy.labels_ = lazy.labels_.compute()
        without(monkeypatch, "dask", "Dask: pip install 'rekmeans[dask]'.")
    loaded = saved_and_loaded(lazy, tmp_path)
    assert loaded.engine == "dask"
    assert_same_answers(loaded, fitted, X)
    assert_same_answers(lazy, fitted, X)


def test_a_model_of_dask_still_fits_dask_collections_only(tmp_path, fitted):
    loaded = saved_and_loaded(fitted.set_params(engine="dask"), tmp_path)
    for fit in (loaded.fit, loaded.partial_fit):
        with raises_mentioning(
            ValueError, "engine='dask' supports only a dask.array or a dask.dataframe"
        ):
            fit(X)
    assert_array_equal(loaded.predict(array.from_array(X)).compute(), fitted.labels_)


def test_an_engine_that_takes_other_tables_is_an_error_of_predict(fitted):
    with raises_mentioning(ValueError, "engine='native' does not support Dask collections"):
        fitted.set_params(engine="native").predict(array.from_array(X))


def test_a_model_loads_without_its_engine_and_predict_says_how_to_go_on(
    tmp_path, monkeypatch, fitted
):
    without(monkeypatch, "torch", "torch: pip install 'rekmeans[gpu]'.")
    loaded = saved_and_loaded(fitted.set_params(engine="torch"), tmp_path)
    for act in (loaded.predict, loaded.transform, loaded.score, loaded.fit, loaded.partial_fit):
        with raises_mentioning(
            ImportError, "engine='torch' needs torch", "rekmeans[gpu]", "set_params(engine='auto')"
        ):
            act(X)
    assert_same_answers(loaded.set_params(engine="auto"), fitted.set_params(engine="auto"), X)


def test_an_unknown_engine_is_an_error_of_fit_and_predict(fitted):
    fitted.set_params(engine="gpu")
    for act in (fitted.fit, fitted.predict):
        with raises_mentioning(ValueError, "engine must be one of", "got 'gpu'"):
            act(X)


def test_a_missing_engine_is_an_error_before_the_table_is_read(monkeypatch):
    without(monkeypatch, "torch", "torch: pip install 'rekmeans[gpu]'.")

    def read_nothing():
        raise AssertionError

    with raises_mentioning(ImportError, "engine='torch' needs torch"):
        RectifiedEulerKMeans(3, engine="torch").fit(read_nothing)
