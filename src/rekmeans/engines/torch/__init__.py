"""The torch engine: rows on a GPU or another torch device. torch is imported only when needed."""

from .engine import Torch, host_values

__all__ = ["Torch", "host_values"]
