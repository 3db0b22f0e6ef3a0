"""One table in every out-of-core form, with a column of weights if the form has column names."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import zarr
from pyarrow import dataset

from support.tables import with_missing_cells

N = 1000
D = 3
CUTS = (0, 1, 1, 137, 512, 999, 1000)  # borders of uneven blocks with one, no or many rows


def stream_rows(n=N, seed=0):
    """Return rows of several groups with missing cells."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, D)) + 6 * random.integers(0, 3, (n, 1))
    return with_missing_cells(X, 0.05)


def stream_weights(n=N, seed=0):
    """Return weights; some of them are 0."""
    return np.random.default_rng(seed + 1).integers(0, 5, n) / 4.0


def frame(X, w=None):
    columns = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    return pd.DataFrame(columns if w is None else columns | {"w": w})


def memmap(folder, X, w):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def npy_path(folder, X, w):
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def zarr_array(folder, X, w):
    array = zarr.create_array(
        folder / "X.zarr", shape=X.shape, chunks=(300, X.shape[1]), dtype=X.dtype
    )
    array[:] = X
    return array


def parquet_file(folder, X, w):
    table = pa.Table.from_pandas(frame(X, w))
    pyarrow.parquet.write_table(table, folder / "X.parquet", row_group_size=170)
    return str(folder / "X.parquet")


def parquet_folder(folder, X, w):
    (folder / "parts").mkdir()
    for number, (a, b) in enumerate(pairwise(CUTS)):
        table = pa.Table.from_pandas(frame(X, w)[a:b], preserve_index=False)
        pyarrow.parquet.write_table(table, folder / "parts" / f"{number}.parquet")
    return folder / "parts"


def parquet_pattern(folder, X, w):
    return f"{parquet_folder(folder, X, w)}/*.parquet"


def pyarrow_dataset(folder, X, w):
    return dataset.dataset(parquet_folder(folder, X, w))


def called_arrays(folder, X, w):
    return lambda: (X[a:b] for a, b in pairwise(CUTS))


def called_frames(folder, X, w):
    whole = frame(X, w)
    return lambda: (whole[a:b] for a, b in pairwise(CUTS))


NAMELESS = (memmap, npy_path, zarr_array, called_arrays)
NAMED = (parquet_file, parquet_folder, parquet_pattern, pyarrow_dataset, called_frames)
FORMS = (*NAMELESS, *NAMED)


def weights_of(form, w):
    """Return the value of `sample_weight` for this form: a column name if it has names."""
    return "w" if w is not None and form in NAMED else w
