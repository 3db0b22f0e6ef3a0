"""pyarrow, or the sentence that says how to get it."""

try:
    import pyarrow as pa
    from pyarrow import compute, csv, ipc, parquet, types
except ImportError:
    raise ImportError(
        "csv, tsv, parquet and feather files need pyarrow: pip install 'rekmeans[tables]'."
    ) from None

__all__ = ["compute", "csv", "ipc", "pa", "parquet", "types"]
