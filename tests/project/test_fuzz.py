"""A few cases of every attack in fuzz/; `make fuzz` runs many more."""

import sys

import pytest

from fuzz.__main__ import main
from fuzz.attack import ATTACKS, Attack, find_attacks, run_attack, run_case

SECONDS = 0.5  # per attack, or one case if it takes longer; half a minute in total


@pytest.mark.parametrize("attack", find_attacks([]), ids=lambda attack: attack.name)
def test_a_few_cases_of_the_attack_pass(attack):
    tally = run_attack(attack, seed=0, n_cases=4, seconds=SECONDS)
    assert tally.n_cases > 0
    assert [str(failure) for failure in tally.failures] == []


@pytest.mark.parametrize(
    ("attack", "number"),
    [
        ("files.feather-plain", 11),  # text was read before it was validated
        ("sizes.csv", 92),  # ended the process: 50 427 columns of text
        ("tables.makes", 9),  # a data frame with a column without any value
    ],
)
def test_a_case_that_once_failed_passes(attack, number):
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


def test_an_unknown_attack_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fuzz", "nothing"])
    assert main() == 2
    assert "no attack has the name nothing" in capsys.readouterr().err


def test_the_runner_writes_the_commands_that_repeat_the_failures(monkeypatch, capsys, tmp_path):
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
