"""Packaging: the version is in one file, and every package of an extra is used."""

import ast
import re
import subprocess
import tomllib
from importlib.metadata import version

import pytest

import rekmeans
from support.paths import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = SETTINGS["project"]["optional-dependencies"]
MODULES = {  # package: its module, if the names differ
    "opencv-python-headless": "cv2",
    "faiss-cpu": "faiss",
    "scikit-learn-intelex": "sklearnex",
}
COMMANDS = {  # package: its command, if the Makefile runs it and no file imports it
    "clang-format": "clang-format --dry-run",
    "ruff": "-m ruff",
    "mypy": "-m mypy",
    "sphinx": "-m sphinx",
    "pytest-xdist": "-m pytest -n",
    "codespell": "bin/codespell",
}
FOLDERS = ("src", "tests", "docs", "benchmarks", "examples")
LITERAL = re.compile(r"""(?im)^\s*(?:__version__|version|release)\b\s*[=:]\s*["']?\d+\.\d+""")


def tracked_files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout of the repository")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_the_version_is_in_one_file():
    suffixes = {".py", ".toml", ".cff", ".txt", ".hpp", ".cpp"}
    files = [path for path in tracked_files() if path.suffix in suffixes]
    found = [
        str(path.relative_to(ROOT))
        for path in files
        if LITERAL.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["src/rekmeans/__init__.py"]
    assert SETTINGS["project"]["dynamic"] == ["version"]
    assert SETTINGS["tool"]["scikit-build"]["metadata"]["version"]["input"] == found[0]
    assert version("rekmeans") == rekmeans.__version__, (
        "the installed metadata are those of another version. Install the package again."
    )


def imported_modules():
    """Return the top-level names of imported modules, including those named in strings.

    Strings name the extensions of Sphinx and optional imports.
    """
    modules = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if path.name == "test_packaging.py":
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    modules |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    modules.add(node.module.split(".")[0])
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    modules.add(node.value.split(".")[0])
    return modules


def packages_of(extra):
    names = [re.match(r"[\w.-]+", need).group() for need in EXTRAS[extra]]
    return [name for name in names if name != "rekmeans"]


@pytest.fixture(scope="module")
def used_modules():
    return imported_modules()


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_package_of_an_extra_is_used(extra, used_modules):
    makefile = (ROOT / "Makefile").read_text()
    unused = [
        name
        for name in packages_of(extra)
        if MODULES.get(name, name.replace("-", "_")) not in used_modules
        and not (name in COMMANDS and COMMANDS[name] in makefile)
    ]
    assert unused == []


def test_an_extra_refers_only_to_existing_extras():
    named = {
        name
        for needs in EXTRAS.values()
        for need in needs
        for name in re.findall(r"\[(.+)\]", need)
    }
    assert {name for group in named for name in group.split(",")} <= EXTRAS.keys()
