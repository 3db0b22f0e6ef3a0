"""Import pyarrow, or raise an error that shows how to install it."""

try:
    import pyarrow as pa
    from pyarrow import compute, csv, dataset, ipc, parquet, types
except ImportError:
    raise ImportError(
        "pyarrow is required for csv, tsv, parquet and feather files and for text columns. "
        "Install it with: pip install 'rekmeans[tables]'."
    ) from None

__all__ = ["compute", "csv", "dataset", "ipc", "pa", "parquet", "types"]
