"""Names a newcomer reads right at first sight: no bare participles, no name defined in two modules."""

import ast
import re
from pathlib import Path

import pytest

import rekmeans
import rekmeans_paper

PACKAGES = [Path(package.__file__).parent for package in (rekmeans, rekmeans_paper)]
PARTICIPLE = re.compile(r"^_?[a-z]+(ed|wn|en|ld)$|^_?(begun|found|kept|made|meant)$")
ALLOWED = {
    "embed": "a verb: the map of a kernel",
    "rectified": "the field's word for the centroid rule, as the paper has it",
    "unsupported": "the reason why an engine does not serve a fit, in the Engine protocol",
    "prepared": "the kernel after it has learned from a table, in the Kernel protocol",
    "_open": "a verb",
}
TWICE_ALLOWED = {"NeuralGas": "the assignment rule and the estimator are both called so in the field"}

each_package = pytest.mark.parametrize("source", PACKAGES, ids=lambda source: source.name)


def module_trees(source):
    return {path: ast.parse(path.read_text()) for path in sorted(source.rglob("*.py"))}


@each_package
def test_no_function_or_class_is_a_bare_participle(source):
    found = [
        f"{path.relative_to(source)}:{node.lineno} {node.name}"
        for path, tree in module_trees(source).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and PARTICIPLE.match(node.name) and node.name not in ALLOWED
    ]
    assert found == []


@each_package
def test_no_module_level_name_is_defined_in_two_modules(source):
    modules: dict[str, set[str]] = {}
    for path, tree in module_trees(source).items():
        for node in tree.body:
            names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            for name in names:
                if not name.startswith("__"):
                    modules.setdefault(name, set()).add(str(path.relative_to(source)))
    twice = {name: sorted(where) for name, where in modules.items() if len(where) > 1 and name not in TWICE_ALLOWED}
    assert twice == {}
