"""The native engine: compiled passes over rows on circles, with the bits of the reference engine,
and over points in floats.
"""

from .engine import Native

__all__ = ["Native"]
