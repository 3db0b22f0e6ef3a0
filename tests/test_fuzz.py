"""A short slice of every attack of fuzz/, so that each run of the tests holds its laws; `make fuzz` runs them all."""

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.attack import Attack, find_attacks, run_attack, run_case

SECONDS = 0.5  # of each attack, or one case where that takes longer: half a minute for all


@pytest.mark.parametrize("attack", find_attacks([]), ids=lambda attack: attack.name)
def test_a_slice_of_the_attack_keeps_its_law(attack):
    tally = run_attack(attack, seed=0, n_cases=4, seconds=SECONDS)
    assert tally.n_cases > 0
    assert [str(failure) for failure in tally.failures] == []


def test_failures_are_counted_and_can_be_repeated():
    def check(case):
        assert case < 0.5, f"{case} is too large"

    attack = Attack("numbers", lambda rng: rng.random(), check)
    tally = run_attack(attack, seed=3, n_cases=100)
    assert tally.n_cases == 100
    assert 25 < len(tally.failures) < 75
    for failure in tally.failures:
        assert run_case(attack, failure.seed, failure.number) == failure
        assert str(failure).startswith(f"python -m fuzz numbers --seed 3 --case {failure.number}  # AssertionError: 0.")


def test_an_unknown_attack_is_refused():
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-m", "fuzz", "nothing"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no attack is named nothing" in done.stderr
