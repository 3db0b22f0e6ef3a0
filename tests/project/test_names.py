"""No function or class has a bare participle as its name."""

import ast
import re
from pathlib import Path

import pytest

import rekmeans
import rekmeans_paper

PACKAGES = [Path(package.__file__).parent for package in (rekmeans, rekmeans_paper)]
PARTICIPLE = re.compile(r"^_?[a-z]+(ed|wn|en|ld)$|^_?(begun|found|kept|made|meant)$")
ALLOWED = {
    "embed": "a verb, the map of a kernel",
    "rectified": "the paper's word for the centroid rule",
    "unsupported": "the reason why an engine does not support a fit, in the Engine protocol",
    "prepared": "the kernel fitted to a table, in the Kernel protocol",
    "_open": "a verb",
    "widen": "a verb",
}

each_package = pytest.mark.parametrize("source", PACKAGES, ids=lambda source: source.name)


def module_trees(source):
    return {path: ast.parse(path.read_text()) for path in sorted(source.rglob("*.py"))}


@each_package
def test_no_function_or_class_is_a_bare_participle(source):
    found = [
        f"{path.relative_to(source)}:{node.lineno} {node.name}"
        for path, tree in module_trees(source).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and PARTICIPLE.match(node.name)
        and node.name not in ALLOWED
    ]
    assert found == []
