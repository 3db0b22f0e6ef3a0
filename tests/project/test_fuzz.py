"""A short slice of every attack of fuzz/, so that each run of the tests holds its laws; `make fuzz`
runs them all.
"""

import sys

import pytest

from fuzz.__main__ import main
from fuzz.attack import ATTACKS, Attack, find_attacks, run_attack, run_case

SECONDS = 0.5  # of each attack, or one case where that takes longer: half a minute for all


@pytest.mark.parametrize("attack", find_attacks([]), ids=lambda attack: attack.name)
def test_a_slice_of_the_attack_keeps_its_law(attack):
    tally = run_attack(attack, seed=0, n_cases=4, seconds=SECONDS)
    assert tally.n_cases > 0
    assert [str(failure) for failure in tally.failures] == []


# text read before it was checked
@pytest.mark.parametrize(("attack", "number"), [("files.feather-plain", 11)])
def test_what_once_failed_keeps_its_law(attack, number):
    assert run_case(ATTACKS[attack], 0, number) is None


def test_failures_are_counted_and_can_be_repeated():
    def check(case):
        assert case < 0.5, f"{case} is too large"

    attack = Attack("numbers", lambda rng: rng.random(), check)
    tally = run_attack(attack, seed=3, n_cases=100)
    assert tally.n_cases == 100
    assert 25 < len(tally.failures) < 75
    for failure in tally.failures:
        assert run_case(attack, failure.seed, failure.number) == failure
        assert str(failure).startswith(
            f"python -m fuzz numbers --seed 3 --case {failure.number}  # AssertionError: 0."
        )


def test_an_unknown_attack_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fuzz", "nothing"])
    assert main() == 2
    assert "no attack has the name nothing" in capsys.readouterr().err


def test_the_runner_counts_and_writes_how_to_repeat(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(
        ATTACKS, "numbers", Attack("numbers", lambda rng: rng.integers(0, 4), check_that_it_is_zero)
    )
    out = tmp_path / "failures.txt"
    monkeypatch.setattr(sys, "argv", ["fuzz", "numbers", "--cases", "40", "--out", str(out)])
    assert main() == 1
    lines = out.read_text().splitlines()
    assert f"numbers       40 {len(lines):9}" in capsys.readouterr().out
    assert all(line.startswith("python -m fuzz numbers --seed 0 --case ") for line in lines)
    monkeypatch.setattr(sys, "argv", lines[0].partition("  #")[0].split()[2:])
    assert main() == 1


def check_that_it_is_zero(case):
    assert case == 0
