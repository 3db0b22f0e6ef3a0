"""The native engine: compiled passes over rows on circles, to the reference's bits, and over points
in floats.
"""

from .engine import Native

__all__ = ["Native"]
