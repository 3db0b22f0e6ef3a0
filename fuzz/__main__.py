"""python -m fuzz: run attacks, print a table of cases and failures, write down how to repeat each
failure.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from .attack import Failure, find_attacks, run_attack, run_case


def main() -> int:
    """Run the attacks asked for; 1 where a case failed."""
    options = _options()
    warnings.simplefilter("ignore")  # of fits that leave cells out, or make fewer clusters
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
        print(*failures or ["the case keeps the law"], sep="\n")
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
        prog="python -m fuzz", description="Attack rekmeans with random hostile input."
    )
    parser.add_argument(
        "attacks", nargs="*", help="attacks, by the beginning of their names; all by default"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other cases")
    parser.add_argument(
        "--seconds", type=float, help="time for all attacks together, instead of a number of cases"
    )
    parser.add_argument("--cases", type=int, help="cases of each attack, instead of its own number")
    parser.add_argument("--case", type=int, help="run this case only")
    parser.add_argument(
        "--out", type=Path, default=Path("fuzz-failures.txt"), help="where failures are written"
    )
    return parser.parse_args()


def _write_failures(path: Path, failures: list[Failure]) -> None:
    """Write how to repeat each failure; a file of an earlier run goes where there is none."""
    path.unlink(missing_ok=True)
    if failures:
        path.write_text("".join(f"{failure}\n" for failure in failures), encoding="utf-8")
        print(*failures[:10], f"{len(failures)} failures, all in {path}", sep="\n")


if __name__ == "__main__":
    sys.exit(main())
