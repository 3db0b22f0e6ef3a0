"""The Dask engine: rows in the partitions of a collection, on a cluster or on local threads."""

from .engine import Dask

__all__ = ["Dask"]
