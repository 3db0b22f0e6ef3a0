"""Blocks of parquet files and datasets, as an estimator reads them."""

from rekmeans.table.stream_input import FittedColumns, find_source


def open_blocks(X, only=None):
    """Return the source of blocks of a dataset or a path; `only` are the columns of a fit."""
    fitted = None if only is None else FittedColumns(None, only)
    return find_source(X, None, fitted=fitted)
