"""Every source of a dataset gives the same bits; missing or bad files raise and are not cached."""

import hashlib
import pickle
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine

from rekmeans_paper import datasets
from rekmeans_paper._origins import FETCHABLE, File
from support.fake_dataset_server import DatasetServer, file_contents, random_table

PRINTED = {  # the paper's table of datasets: rows, columns, classes
    "wine": (178, 13, 3),
    "seeds": (210, 7, 3),
    "yeast": (1484, 17, 10),
    "isolet": (1559, 617, 26),
    "pendigits": (3498, 16, 10),
    "satimage": (6435, 36, 7),
    "Event": (1579, 10752, 26),
    "Scene13": (3859, 10752, 13),
    "Caltech101": (8677, 10752, 101),
    "SImagenet": (19911, 10752, 12),
    "Caltech256": (29780, 10752, 256),
}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = DatasetServer()
    yield server
    server.close()


def serve_locally(name, server, monkeypatch, files, shape=None):
    """Replace the source of a dataset by the local server, and unset REKMEANS_DATA."""
    monkeypatch.delenv("REKMEANS_DATA", raising=False)
    origin = FETCHABLE[name]
    local_files = tuple(
        File(server.serve(file.name, content), hashlib.sha256(content).hexdigest())
        for file, content in zip(origin.files, files, strict=True)
    )
    monkeypatch.setitem(
        datasets.ORIGINS, name, replace(origin, files=local_files, shape=shape or origin.shape)
    )


def cached_files(folder):
    return [path.name for path in folder.rglob("*") if path.is_file()]


def load_error(name, cache):
    """Return the message of a load that fails: one sentence that ends with the fix."""
    with pytest.raises(datasets.MissingDatasetError) as caught:
        datasets.load(name, cache=cache)
    message = str(caught.value)
    assert message.startswith(f"{name} is missing: ")
    assert message.endswith(
        f"; try again later, or set REKMEANS_DATA to a folder that contains {name}.npz."
    )
    assert "\n" not in message
    assert not re.search(r"\. [A-Z]", message)
    return message


@pytest.mark.parametrize("name", datasets.LOW)
def test_a_dataset_is_downloaded_once(name, server, tmp_path, monkeypatch):
    X, y = random_table(name)
    serve_locally(name, server, monkeypatch, file_contents(name, X, y), shape=X.shape)
    assert datasets.available(cache=tmp_path)[name].startswith(
        f"not downloaded yet; load() fetches it from {server.url}/"
    )
    for _ in range(2):
        found = datasets.load(name, cache=tmp_path)
        assert_array_equal(found.X, X, strict=True)
        assert_array_equal(found.y, y, strict=True)
    assert len(server.requested_paths) == len(FETCHABLE[name].files)
    assert datasets.available(cache=tmp_path)[name] == f"in the cache {tmp_path}"


@pytest.mark.parametrize("name", ["wine", "seeds", "yeast", "pendigits", "satimage"])
def test_every_source_gives_the_same_bits(name, server, tmp_path, monkeypatch, shared_set):
    X, y = shared_set(name)
    serve_locally(name, server, monkeypatch, file_contents(name, X, y))
    fetched = datasets.load(name, cache=tmp_path / "cache")
    np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    monkeypatch.setenv("REKMEANS_DATA", str(tmp_path))
    stored = datasets.load(name, cache=tmp_path / "unused")
    assert_array_equal(fetched.X, stored.X, strict=True)
    assert_array_equal(fetched.y, stored.y, strict=True)


def test_wine_equals_the_wine_of_scikit_learn(server, tmp_path, monkeypatch):
    X, y = load_wine(return_X_y=True)
    serve_locally("wine", server, monkeypatch, file_contents("wine", X, y))
    found = datasets.load("wine", cache=tmp_path)
    assert_array_equal(found.X, X.astype(np.float32))
    assert_array_equal(found.y, y)


def test_a_wrong_checksum_is_reported_and_not_cached(server, tmp_path, monkeypatch):
    good = file_contents("wine", *random_table("wine"))
    serve_locally("wine", server, monkeypatch, good)
    server.serve("wine.data", good[0].replace(b"1", b"2", 1))
    assert f"{server.url}/wine.data sent a file with an unexpected sha256;" in load_error(
        "wine", tmp_path
    )
    assert cached_files(tmp_path) == []


@pytest.mark.parametrize("sent", [0.0, 0.5, 1.0])
def test_a_closed_connection_is_reported_and_not_cached(sent, server, tmp_path, monkeypatch):
    good = file_contents("wine", *random_table("wine"))
    serve_locally("wine", server, monkeypatch, good)
    server.serve("wine.data", good[0][: int(sent * len(good[0]))], missing=100)
    message = f"{server.url}/wine.data closed the connection before the end of the file;"
    assert message in load_error("wine", tmp_path)
    assert cached_files(tmp_path) == []


def test_a_404_is_reported_and_complete_files_stay_cached(server, tmp_path, monkeypatch):
    serve_locally(
        "satimage",
        server,
        monkeypatch,
        file_contents("satimage", *random_table("satimage")),
    )
    del server.files["/sat.tst"]
    assert f"{server.url}/sat.tst answered 404 Not Found;" in load_error("satimage", tmp_path)
    assert cached_files(tmp_path) == ["sat.trn"]


def test_an_unreachable_server_is_reported(server, tmp_path, monkeypatch):
    serve_locally("wine", server, monkeypatch, file_contents("wine", *random_table("wine")))
    server.close()
    assert f"{server.url}/wine.data cannot be reached;" in load_error("wine", tmp_path)
    assert cached_files(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no rows"),
        (b"<html>serve_locally</html>", "1 x 0 values instead of 178 x 13"),
        (b"1,two,3\n", "could not convert string to float: 'two'"),
        (b"1,2,3\n1,2\n", "row 2 has 2 fields, but the first row has 3"),
        (b"1,2,3\n2,5,6\n", "2 x 2 values instead of 178 x 13"),
        ("1,½,3\n".encode(), "ascii"),
    ],
)
def test_a_different_table_is_reported_and_not_cached(
    content, reason, server, tmp_path, monkeypatch
):
    serve_locally("wine", server, monkeypatch, [content])
    message = load_error("wine", tmp_path)
    assert f"{server.url}/wine.data sent a different table (" in message
    assert reason in message
    assert cached_files(tmp_path) == []


def test_a_table_with_different_classes_is_reported(server, tmp_path, monkeypatch):
    X, y = random_table("wine")
    serve_locally("wine", server, monkeypatch, file_contents("wine", X, 2 - y))
    assert "(classes of (48, 71, 59) rows instead of (59, 71, 48));" in load_error("wine", tmp_path)


def test_a_corrupt_cached_file_is_downloaded_again_or_deleted(server, tmp_path, monkeypatch):
    X, y = random_table("wine")
    serve_locally("wine", server, monkeypatch, file_contents("wine", X, y))
    (tmp_path / "wine.data").write_text("corrupt")
    assert_array_equal(datasets.load("wine", cache=tmp_path).X, X)
    (tmp_path / "wine.data").write_text("corrupt again")
    server.files.clear()
    assert "answered 404" in load_error("wine", tmp_path)
    assert cached_files(tmp_path) == []


def test_a_cache_that_cannot_be_written_is_reported(server, tmp_path, monkeypatch):
    serve_locally("wine", server, monkeypatch, file_contents("wine", *random_table("wine")))
    (tmp_path / "file").write_text("")
    assert f"could not be saved in {tmp_path / 'file'} (" in load_error("wine", tmp_path / "file")


def test_the_user_folder_is_tried_first(server, tmp_path, monkeypatch):
    X, y = random_table("wine")
    serve_locally("wine", server, monkeypatch, file_contents("wine", 2 * X, y))
    np.savez(tmp_path / "wine.npz", X=X.astype(np.float64), y=y)
    monkeypatch.setenv("REKMEANS_DATA", str(tmp_path))
    assert_array_equal(datasets.load("wine", cache=tmp_path / "cache").X, X, strict=True)
    assert datasets.available()["wine"] == f"in {tmp_path / 'wine.npz'}"
    assert server.requested_paths == []


def test_a_file_with_another_dataset_raises(tmp_path, monkeypatch):
    monkeypatch.setenv("REKMEANS_DATA", str(tmp_path))
    X, y = random_table("wine")
    for arrays, message in [
        (
            {"X": X[:, :12], "y": y},
            "it has 178 x 12 values instead of 178 x 13. Rename or remove the file.",
        ),
        ({"X": X, "y": y // 2}, "it has 2 classes instead of 3. Rename or remove the file."),
        ({"X": X}, "wine.npz has no column y"),
    ]:
        np.savez(tmp_path / "wine.npz", **arrays)
        with pytest.raises(ValueError, match=re.escape(message)):
            datasets.load("wine")


def test_a_path_that_is_not_a_folder_raises(tmp_path, monkeypatch):
    monkeypatch.setenv("REKMEANS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(
        NotADirectoryError, match=r"^REKMEANS_DATA must be a folder, got '.*nowhere'"
    ):
        datasets.load("wine")


@pytest.mark.parametrize("name", [*datasets.LOW, "sports8_spm"])
def test_a_real_dataset_loads_unchanged(name, shared_set):
    X, y = shared_set(name)
    found = datasets.load(name)
    assert found.X.dtype == np.float32
    assert_array_equal(found.X, X)
    assert_array_equal(found.y, y)
    assert found.source.startswith("https://")


def test_image_datasets_without_features_are_reported_as_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("REKMEANS_DATA", str(tmp_path))
    where = datasets.available(cache=tmp_path)
    assert set(where) == {*datasets.NAMES, *datasets.HIGH}
    pictures = set(where) - {"halfmoon", *datasets.LOW}
    assert pictures == {"Event", "Scene13", "Caltech101", "SImagenet", "Caltech256", *datasets.HIGH}
    for name in pictures:
        with pytest.raises(datasets.MissingDatasetError) as caught:
            datasets.load(name, cache=tmp_path)
        assert where[name] == f"missing: {caught.value.why}"
        assert f"save them as {name}.npz" in caught.value.why
    assert where["Event"].endswith("or use sports8_spm.")


def test_notes_list_the_errors_of_the_printed_table():
    assert (*PRINTED,) == datasets.NAMES[1:]
    for name, printed in PRINTED.items():
        origin = datasets.ORIGINS[name]
        wrong = [
            old for old, new in zip(printed, (*origin.shape, origin.k), strict=True) if old != new
        ]
        stated = re.findall(r"The paper's table says (\d+)", origin.note)
        assert [int(number) for number in stated] == wrong
        if name in datasets.LOW:
            assert sum(origin.classes) == origin.shape[0]
            assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) for file in origin.files)
    for ours, theirs in datasets.HIGH.items():
        assert f"Stands in for {theirs}:" in datasets.ORIGINS[ours].note


def test_half_moons_follow_their_seed_and_their_formula():
    moons = datasets.half_moons(random_state=3, n_samples=200, noise=0.0)
    upper, lower = moons.X[moons.y == 0], moons.X[moons.y == 1]
    np.testing.assert_allclose(np.hypot(*upper.T), 1, rtol=1e-6)
    np.testing.assert_allclose(np.hypot(*(lower - [1, 0.5]).T), 1, rtol=1e-6)
    again, other = datasets.half_moons(random_state=3), datasets.half_moons(random_state=4)
    assert_array_equal(again.X, datasets.half_moons(random_state=3).X)
    assert (again.X != other.X).any()
    assert_array_equal(datasets.load("halfmoon").X, datasets.half_moons().X)


def test_an_error_lists_the_known_names():
    with pytest.raises(ValueError, match=r"name must be one of 'halfmoon', 'wine', .*; got 'wien'"):
        datasets.load("wien")


def test_the_error_of_a_missing_dataset_can_be_pickled():
    error = datasets.MissingDatasetError("Event", "its photos are not here.")
    assert isinstance(error, LookupError)
    assert str(pickle.loads(pickle.dumps(error))) == "Event is missing: its photos are not here."


def test_without_pooch_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.delenv("REKMEANS_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'rekmeans\[paper\]'"):
        datasets.load("wine", cache=tmp_path)
    assert "pip install 'rekmeans[paper]'" in datasets.available(cache=tmp_path)["wine"]


def test_the_module_prints_the_location_of_each_dataset(tmp_path, monkeypatch):
    monkeypatch.setenv("REKMEANS_DATA", str(tmp_path))
    command = [sys.executable, "-W", "error", "-m", "rekmeans_paper.datasets"]
    printed = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [line.split()[0] for line in printed] == [*datasets.NAMES, *datasets.HIGH]
    assert re.match(r"yeast +1484 x 8 +10 classes  not downloaded yet", printed[3])
