"""What a pass leaves behind: named arrays that add; blocks, threads, cards, workers differ only in who adds."""

from __future__ import annotations

from typing import Any


class Sums:
    """A record of named arrays; `a + b` adds them name by name. What is no sum is a tuple of parts, which join."""

    def __init__(self, **arrays: Any) -> None:
        self.__dict__.update(arrays)

    def __add__(self, other: Sums) -> Sums:
        return Sums(**{name: value + other.__dict__[name] for name, value in self.__dict__.items()})

    def __or__(self, other: Sums) -> Sums:
        return Sums(**(self.__dict__ | other.__dict__))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"these sums hold {', '.join(self.__dict__)}; no {name!r}.")
