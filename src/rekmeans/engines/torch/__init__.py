"""The torch engine: rows on a GPU or another device of torch, which is loaded only on request."""

from .engine import Torch, host_values

__all__ = ["Torch", "host_values"]
