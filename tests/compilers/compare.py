"""Build the core with every installed compiler and compare the bits of its fits.

Run: `python tests/compilers/compare.py`.

Each compiler builds driver.cpp with the flags of CMakeLists.txt, for every instruction set and once
without vector extensions. Programs of an ARM compiler run under qemu-aarch64. All programs must
print the same hashes, and sums of floats must agree to 1e-12. Compilers that are not installed are
reported and skipped.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "src" / "rekmeans" / "engines" / "native" / "core"
COMPILERS = [
    "g++-11",
    "g++-12",
    "clang++-14",
    "clang++-16",
    "clang++-19",
    "aarch64-linux-gnu-g++-12",
]
FLAGS = [
    "-std=c++20",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-fast-math",
    "-Wno-psabi",
    f"-I{CORE}",
]
AVX512 = [
    "-mavx512f",
    "-mavx512bw",
    "-mavx512vl",
    "-mavx512dq",
    "-mfma",
    "-mprefer-vector-width=512",
]
SETS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": AVX512,
    "vnni": [*AVX512, "-mavx512vnni"],
}
TOLERANCE = 1e-12  # relative tolerance of float sums, whether fused or not and for any vector width


def build(compiler: str, plain: bool, folder: Path) -> Path:
    """Compile the driver and return the path of the program."""
    arm = compiler.startswith("aarch64")
    sets = {"baseline": []} if arm or plain else SETS
    define = (
        ["-DREKMEANS_PLAIN", "-pedantic-errors"] if plain else [] if arm else ["-DREKMEANS_X86"]
    )
    sources = [HERE / "driver.cpp", CORE / "simd" / "instruction_set.cpp", CORE / "large_array.cpp"]
    sources += [
        source
        for package in ("exact", "float", "scales")
        for source in sorted((CORE / package).glob("*.cpp"))
    ]
    units = [(source, [], source.stem) for source in sources]
    units += [
        (CORE / "simd" / "simd.cpp", [f"-DREKMEANS_SIMD={name}", *flags], name)
        for name, flags in sets.items()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for source, flags, name in units:
        objects.append(folder / f"{source.parent.name}_{name}.o")
        subprocess.run(
            [compiler, *FLAGS, *define, *flags, "-c", source, "-o", objects[-1]], check=True
        )
    subprocess.run([compiler, "-static", *objects, "-o", folder / "driver", "-pthread"], check=True)
    return folder / "driver"


def run(program: Path, name: str, arm: bool) -> dict[str, list[str]] | None:
    """Return the output of the driver by case, or None if the processor lacks the instructions."""
    command = ["qemu-aarch64"] * arm + [str(program), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return {
        " ".join(words[:3]): words[3:]
        for line in done.stdout.splitlines()[1:]
        if (words := line.split())
    }


def differences(found: dict[str, list[str]], expected: dict[str, list[str]]) -> tuple[int, float]:
    """Return how many exact fits and scales differ in any of three builds, and the largest relative
    difference of floats.
    """
    exact = [key for key in expected if key.startswith("exact")]
    wrong = sum(found[key] != expected[key] or len(set(found[key])) > 1 for key in exact)
    floats = [
        abs(float(a) - float(b)) / abs(float(b))
        for key in expected
        if key.startswith("float")
        for a, b in zip(found[key], expected[key], strict=True)
    ]
    return wrong, max(floats, default=math.nan)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/compilers"))
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    at_hand = [
        c
        for c in COMPILERS
        if shutil.which(c) and (not c.startswith("aarch64") or shutil.which("qemu-aarch64"))
    ]
    print("not installed:", ", ".join(sorted(set(COMPILERS) - set(at_hand))) or "none")
    builds = [(compiler, plain) for compiler in at_hand for plain in (False, True)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        programs = list(
            pool.map(
                lambda choice: build(*choice, arguments.out / f"{choice[0]}-{choice[1]}"), builds
            )
        )
    expected = run(programs[0], "baseline", False)
    failures = 0
    print(
        "| compiler | instructions | exact fits | different | largest difference of floats "
        "|\n|---|---|---|---|---|"
    )
    for (compiler, plain), program in zip(builds, programs, strict=True):
        arm = compiler.startswith("aarch64")
        for name in ["baseline"] if plain or arm else SETS:
            found = run(program, name, arm)
            shown = "plain" if plain else "NEON" if arm else name
            if found is None or expected is None:
                print(f"| {compiler} | {shown} | not supported by this processor | | |")
                continue
            wrong, largest = differences(found, expected)
            failures += wrong > 0 or not largest < TOLERANCE
            print(
                f"| {compiler} | {shown} | {3 * sum(k.startswith('exact') for k in found)} | "
                f"{wrong} | {largest:.1e} |"
            )
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
