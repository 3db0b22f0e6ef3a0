"""python -m fuzz: run attacks, print a table of cases and failures, and write how to repeat each
failure.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from .attack import Failure, find_attacks, run_attack, run_case


def main() -> int:
    """Run the selected attacks. Return 1 if a case failed, else 0."""
    options = _options()
    warnings.simplefilter("ignore")  # from fits that ignore cells or find fewer clusters
    try:
        attacks = find_attacks(options.attacks)
    except ValueError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    if options.case is not None:
        failures = [
            failure
            for attack in attacks
            if (failure := run_case(attack, options.seed, options.case))
        ]
        print(*failures or ["the case satisfies the law"], sep="\n")
        return int(bool(failures))
    failures = []
    width = max(len(attack.name) for attack in attacks)
    print(f"{'attack':{width}} {'cases':>8} {'failures':>9}")
    for attack in attacks:
        seconds = None if options.seconds is None else options.seconds / len(attacks)
        tally = run_attack(attack, options.seed, options.cases, seconds)
        print(f"{tally.attack:{width}} {tally.n_cases:8,} {len(tally.failures):9,}", flush=True)
        failures += tally.failures
    _write_failures(options.out, failures)
    return int(bool(failures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description="Attack rekmeans with random adversarial input."
    )
    parser.add_argument(
        "attacks", nargs="*", help="attacks whose names start with one of these (default: all)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the cases")
    parser.add_argument(
        "--seconds",
        type=float,
        help="time limit for all attacks together, instead of numbers of cases",
    )
    parser.add_argument(
        "--cases", type=int, help="cases of each attack, instead of its default number"
    )
    parser.add_argument("--case", type=int, help="run only this case")
    parser.add_argument(
        "--out", type=Path, default=Path("fuzz-failures.txt"), help="file for failures"
    )
    return parser.parse_args()


def _write_failures(path: Path, failures: list[Failure]) -> None:
    """Write how to repeat each failure, or delete the file of an earlier run if there are none."""
    path.unlink(missing_ok=True)
    if failures:
        path.write_text("".join(f"{failure}\n" for failure in failures), encoding="utf-8")
        print(*failures[:10], f"{len(failures)} failures, all in {path}", sep="\n")


if __name__ == "__main__":
    sys.exit(main())
