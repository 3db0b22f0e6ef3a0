"""Manually written lists are complete: kernels in docstrings and the guide, files in pages."""

import re

import pytest

import rekmeans
from rekmeans.engines import ENGINES
from support.kernels import TABLE_KERNELS
from support.paths import ROOT

FOLDERS = ("src", "tests", "docs", "benchmarks", "examples", "fuzz")
PAGES = {
    path: (ROOT / path).read_text(encoding="utf-8") for path in ("README.md", "docs/choose.md")
}


@pytest.mark.parametrize(
    "estimator", ["KernelKMeans", "FuzzyCMeans", "SelfOrganizingMap", "NeuralGas"]
)
def test_the_docstring_of_kernel_names_every_kernel(estimator):
    listed = re.search(
        r"^    kernel : \{(.*)\}", getattr(rekmeans, estimator).__doc__, flags=re.MULTILINE
    )[1]
    assert set(re.findall(r'"(.*?)"', listed)) == set(TABLE_KERNELS), (
        f"list every kernel in {estimator}.__doc__"
    )


@pytest.mark.parametrize("kernel", TABLE_KERNELS)
def test_the_guide_names_every_kernel(kernel):
    assert f'"{kernel}"' in PAGES["docs/choose.md"], "describe the kernel in docs/choose.md"


@pytest.mark.parametrize(
    "page", sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md"))
)
def test_every_file_named_on_a_page_exists(page):
    named = set(
        re.findall(r"[\w./-]+/[\w.-]+\.(?:py|cpp|hpp)\b", (ROOT / page).read_text(encoding="utf-8"))
    )
    files = [
        f"/{path.relative_to(ROOT).as_posix()}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.*")
    ]
    absent = [
        name
        for name in named
        if "NAME" not in name and not any(path.endswith(f"/{name}") for path in files)
    ]
    assert absent == []


def test_the_glossary_names_every_engine():
    line = re.search(
        r"^\| engine \|(.*)$",
        (ROOT / "docs/glossary.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert [name for name in ENGINES if name not in line[1]] == []
