"""The Dask engine: the rows of a Dask collection, on a cluster or on local threads."""

from .engine import Dask

__all__ = ["Dask"]
