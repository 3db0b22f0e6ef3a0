"""Attacks: a generator of adversarial cases and a law for each, and the registry of attacks."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from . import MODULES


@dataclass(frozen=True)
class Attack:
    """An attack: `draw(rng)` returns a case, and `check(case)` raises an exception if the case
    violates the law.
    """

    name: str
    draw: Callable[[np.random.Generator], Any]
    check: Callable[[Any], None]
    n_cases: int = 500  # number of cases in a full run

    def generator(self, seed: int, number: int) -> np.random.Generator:
        """Return the random generator of one case, which depends on the seed, the attack and the
        number.
        """
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), number])


@dataclass(frozen=True)
class Failure:
    """A case that violated the law."""

    attack: str
    seed: int
    number: int
    message: str

    def __str__(self) -> str:
        return (
            f"python -m fuzz {self.attack} --seed {self.seed} --case {self.number}  # "
            f"{self.message}"
        )


@dataclass(frozen=True)
class Tally:
    """The number of cases and the failures of one attack."""

    attack: str
    n_cases: int
    failures: list[Failure]


ATTACKS: dict[str, Attack] = {}


def register(attack: Attack) -> Attack:
    """Add an attack to the registry."""
    if attack.name in ATTACKS:
        raise ValueError(f"duplicate attack name {attack.name}: rename one.")
    ATTACKS[attack.name] = attack
    return attack


def find_attacks(prefixes: Iterable[str]) -> list[Attack]:
    """Return the attacks whose names start with one of the prefixes, or all attacks if there are no
    prefixes.
    """
    for module in MODULES:
        import_module(module)
    found: dict[str, Attack] = {}
    for prefix in tuple(prefixes) or ("",):
        names = (
            [prefix] if prefix in ATTACKS else [name for name in ATTACKS if name.startswith(prefix)]
        )
        if not names:
            raise ValueError(
                f"no attack has the name {prefix}. Available attacks: {', '.join(ATTACKS)}."
            )
        found |= {name: ATTACKS[name] for name in names}
    return list(found.values())


def run_case(attack: Attack, seed: int, number: int) -> Failure | None:
    """Draw and check one case."""
    try:
        attack.check(attack.draw(attack.generator(seed, number)))
    except Exception as error:  # every exception is a failure
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return Failure(attack.name, seed, number, message[:1000])
    return None


def run_attack(
    attack: Attack, seed: int, n_cases: int | None = None, seconds: float | None = None
) -> Tally:
    """Run cases 0, 1, ... of an attack: the given number, or at least one within the time limit."""
    end = None if seconds is None else time.monotonic() + seconds
    numbers: Iterator[int] = (
        count() if end is not None and n_cases is None else iter(range(n_cases or attack.n_cases))
    )
    failures = []
    done = 0
    for number in numbers:
        if failure := run_case(attack, seed, number):
            failures.append(failure)
        done = number + 1
        if end is not None and time.monotonic() > end:
            break
    return Tally(attack.name, done, failures)
