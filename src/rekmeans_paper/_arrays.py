"""The type of arrays, of any numbers and shape; shapes are in the comments."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
