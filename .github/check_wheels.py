"""Check that each wheel of a folder has the core, stubs and py.typed, and no C++ sources."""

import sys
from pathlib import Path
from zipfile import ZipFile

NEEDED = (
    "rekmeans/py.typed",
    "rekmeans_paper/py.typed",
    "rekmeans/engines/native/_core.pyi",
    "rekmeans/html_report/page.html.j2",
)
SOURCES = (".cpp", ".hpp", ".txt")
CORE = ("rekmeans/engines/native/_core.", (".so", ".pyd"))


def find_faults(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel, a line each."""
    names = ZipFile(wheel).namelist()
    package = [name for name in names if ".dist-info/" not in name]
    faults = [f"has no {name}" for name in NEEDED if name not in names]
    faults += [f"has the source {name}" for name in package if name.endswith(SOURCES)]
    if not any(name.startswith(CORE[0]) and name.endswith(CORE[1]) for name in package):
        faults.append("has no compiled core")
    return faults


if __name__ == "__main__":
    wheels = sorted(Path(sys.argv[1]).glob("*.whl"))
    faults = [f"{wheel.name} {fault}" for wheel in wheels for fault in find_faults(wheel)]
    if not wheels:
        faults.append(f"{sys.argv[1]} has no wheels")
    print(*(faults or [f"{wheel.name}: complete" for wheel in wheels]), sep="\n")
    sys.exit(1 if faults else 0)
