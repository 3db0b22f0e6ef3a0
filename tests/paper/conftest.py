"""Shared fixtures."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rekmeans_paper import reproduction_cells


@pytest.fixture
def wine_folder(tmp_path, monkeypatch):
    """Set REKMEANS_DATA to a folder that contains only wine."""
    folder = tmp_path / "data"
    folder.mkdir()
    X, y = load_wine(return_X_y=True)
    np.savez(folder / "wine.npz", X=X.astype(np.float32), y=y)
    monkeypatch.setenv("REKMEANS_DATA", str(folder))
    reproduction_cells._scaled_rows.cache_clear()
    yield folder
    reproduction_cells._scaled_rows.cache_clear()
