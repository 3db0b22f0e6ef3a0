"""The native engine, compiled C++.

Passes over rows on circles give the same bits as the reference engine. Passes over points use
floats.
"""

from .engine import Native

__all__ = ["Native"]
