"""Fixtures that the tests of this folder share."""

import pytest

from rekmeans import RectifiedEulerKMeans, save
from support.model_files import WINE


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved clusterer's file."""
    path = tmp_path_factory.mktemp("saved") / "model.safetensors"
    save(RectifiedEulerKMeans(3, init=WINE[:3] + 0.5).fit(WINE), path)
    return path
