"""Fixtures that the tests of this folder share."""

import pytest

from rekmeans import RectifiedEulerKMeans, save
from support.model_files import WINE


@pytest.fixture(scope="module")
def saved_file(tmp_path_factory):
    """The file of a saved clusterer."""
    path = tmp_path_factory.mktemp("saved") / "model.safetensors"
    save(RectifiedEulerKMeans(3, init=WINE[:3] + 0.5).fit(WINE), path)
    return path
