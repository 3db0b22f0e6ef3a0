"""Validate the docstrings of the public names with numpydoc, as part of `make lint`.

The table `tool.numpydoc_validation` in pyproject.toml lists the checks. The command of numpydoc
validates every function of a file. This script validates the names and methods that users see,
including inherited methods that this project defines.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import rekmeans
import rekmeans_paper

PACKAGES = (rekmeans, rekmeans_paper)
ROOT = Path(__file__).parents[2]


def enabled_checks() -> set[str]:
    """Return the codes of the checks; if "all" is listed, the other codes are disabled."""
    from numpydoc.validate import ERROR_MSGS

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    codes = set(settings["tool"]["numpydoc_validation"]["checks"])
    return set(ERROR_MSGS) - codes if "all" in codes else codes


def public_objects(package: ModuleType) -> Iterator[str]:
    """Yield the dotted names of the public names of a package and of their methods."""
    for name in package.__all__:
        value = getattr(package, name)
        yield f"{package.__name__}.{name}"
        if not inspect.isclass(value):
            continue
        for member in sorted(dir(value)):
            if not member.startswith("_") and is_documented_here(getattr(value, member)):
                yield f"{package.__name__}.{name}.{member}"


def is_documented_here(member: object) -> bool:
    """Return whether a member of a class is a method or property of this project."""
    function = member.fget if isinstance(member, property) else inspect.unwrap(member)
    module = getattr(function, "__module__", None) or ""
    return inspect.isroutine(function) and module.split(".")[0] in {
        package.__name__ for package in PACKAGES
    }


def find_errors() -> list[str]:
    """Return one line for each error, and only one for a method that several classes inherit."""
    from numpydoc.validate import validate

    checks = enabled_checks()
    errors = {}
    for package in PACKAGES:
        for name in public_objects(package):
            found = validate(name)
            for code, message in found["errors"]:
                if code in checks:
                    place = f"{found['file']}:{found['file_line']}"
                    errors.setdefault((place, code, message), f"{place}: {name} {code} {message}")
    return list(errors.values())


if __name__ == "__main__":
    errors = find_errors()
    print(*errors, sep="\n" if errors else "")
    sys.exit(1 if errors else 0)
