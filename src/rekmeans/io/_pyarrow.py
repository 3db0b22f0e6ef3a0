"""pyarrow, or an error with the command that installs it."""

try:
    import pyarrow as pa
    from pyarrow import compute, csv, dataset, ipc, parquet, types
except ImportError:
    raise ImportError(
        "csv, tsv, parquet and feather files and columns of text need pyarrow: "
        "pip install 'rekmeans[tables]'."
    ) from None

__all__ = ["compute", "csv", "dataset", "ipc", "pa", "parquet", "types"]
