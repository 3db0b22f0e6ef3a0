"""Signatures of the loop, the seeding, the engines, the tables and the protocols have no `Any`."""

import ast
import re
from pathlib import Path

import pytest

import rekmeans

SOURCE = Path(rekmeans.__file__).parent
TYPED = ("lloyd.py", "seeding.py", "engines", "table")


def is_below(path, names):
    return any(path == name or path.startswith(f"{name}/") for name in names)


def uses_any(annotation):
    """Return whether `Any` occurs in an annotation, including quoted annotations."""
    if annotation is None:
        return False
    return re.search(r"\bAny\b", ast.unparse(annotation)) is not None


def signatures(tree):
    """Yield (line, name, annotation) for each argument, return value and class attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            for argument in [*named, arguments.vararg, arguments.kwarg]:
                if argument is not None:
                    yield argument.lineno, f"{node.name}({argument.arg})", argument.annotation
            yield node.lineno, f"{node.name} -> ", node.returns
        elif isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign):
                    yield field.lineno, f"{node.name}.{ast.unparse(field.target)}", field.annotation


def is_protocol(node):
    return isinstance(node, ast.ClassDef) and any(
        ast.unparse(base).split("[")[0].split(".")[-1] == "Protocol" for base in node.bases
    )


def typed_trees():
    """Yield (file, tree) for the files and the protocols that must not use `Any`."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if is_below(name, TYPED):
            yield name, tree
        else:
            yield from ((name, node) for node in ast.walk(tree) if is_protocol(node))


def test_no_signature_uses_any():
    found = [
        f"{name}:{line} {what}"
        for name, tree in typed_trees()
        for line, what, annotation in signatures(tree)
        if uses_any(annotation)
    ]
    assert found == []


@pytest.mark.parametrize("name", TYPED)
def test_every_listed_file_exists(name):
    assert (SOURCE / name).exists()


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("def f(x: Any, /, *y: int, **z: list[Any]) -> 'dict[str, Any]': ...", 3),
        ("class C:\n    x: typing.Any\n    y: int = 0\n", 1),
        ("def f(x: object, y: NDArray) -> Anything: ...", 0),
        ("def f(x):\n    y: Any = x\n", 0),
    ],
)
def test_the_check_finds_any_in_signatures(code, count):
    assert sum(uses_any(annotation) for *_, annotation in signatures(ast.parse(code))) == count
