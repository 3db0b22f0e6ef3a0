"""Lists written by hand in several places name the same things: kernels in docstrings, displays in the package."""

import re

import pytest

import rekmeans
from rekmeans import displays
from support.kernels import TABLE_KERNELS
from support.paths import ROOT

PAGES = {path: (ROOT / path).read_text(encoding="utf-8") for path in ("README.md", "docs/choose.md")}


@pytest.mark.parametrize("estimator", ["KernelKMeans", "FuzzyCMeans", "SelfOrganizingMap", "NeuralGas"])
def test_the_docstring_of_kernel_names_every_kernel(estimator):
    listed = re.search(r"^    kernel : \{(.*)\}", getattr(rekmeans, estimator).__doc__, flags=re.MULTILINE)[1]
    assert set(re.findall(r'"(.*?)"', listed)) == set(TABLE_KERNELS), f"write every kernel in {estimator}.__doc__"


@pytest.mark.parametrize("kernel", TABLE_KERNELS)
def test_the_guide_names_every_kernel(kernel):
    assert f'"{kernel}"' in PAGES["docs/choose.md"], "write what the kernel is for in docs/choose.md"


def test_every_display_is_a_name_of_the_package_and_in_the_readme():
    assert sorted(displays.__all__) == sorted(rekmeans.DISPLAYS), "write it in DISPLAYS of src/rekmeans/__init__.py"
    assert [name for name in displays.__all__ if f"`{name}`" not in PAGES["README.md"]] == []
