"""The torch engine: rows on a card or another device of torch, which is loaded only where rows are
placed.
"""

from .engine import Torch

__all__ = ["Torch"]
