"""Names a newcomer reads right at first sight: no bare participles, no name with two homes."""

import ast
import re
from pathlib import Path

import rekmeans

SOURCE = Path(rekmeans.__file__).parent  # the study beside it has names of its own kind
PARTICIPLE = re.compile(r"^_?[a-z]+(ed|wn|en|ld)$")
ALLOWED = {
    "embed": "a verb: the map of a kernel",
    "rectified": "the field's word for the centroid rule, as the paper has it",
    "unsupported": "the reason why an engine does not serve a fit, in the Engine protocol",
    "prepared": "the kernel after it has learned from a table, in the Kernel protocol",
    "_open": "a verb",
}
TWO_HOMES = {"NeuralGas": "the assignment rule and the estimator are both called so in the field"}


def module_trees():
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def test_no_function_or_class_is_a_bare_participle():
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}"
        for path, tree in module_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and PARTICIPLE.match(node.name) and node.name not in ALLOWED
    ]
    assert found == []


def test_no_module_level_name_is_defined_in_two_modules():
    homes: dict[str, set[str]] = {}
    for path, tree in module_trees().items():
        for node in tree.body:
            names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            for name in names:
                if not name.startswith("__"):
                    homes.setdefault(name, set()).add(str(path.relative_to(SOURCE)))
    twice = {name: sorted(where) for name, where in homes.items() if len(where) > 1 and name not in TWO_HOMES}
    assert twice == {}
