"""Imports point one way: a layer imports only from the layers above it in docs/method.md."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rekmeans
import rekmeans_paper
from rekmeans.kernels import KERNELS

SOURCE = Path(rekmeans.__file__).parent
PAPER = Path(rekmeans_paper.__file__).parent
# The layers in the order of docs/method.md. Modules of one line may import one another.
ROOMS = (
    (
        "_grid",
        "_arctan",
        "threads",
        "machine_memory",
        "atomic",
        "tensor_file",
        "_text",
    ),
    ("model",),
    ("codec",),
    ("io",),
    ("table",),
    ("_parameters",),
    ("scales",),
    ("kernels",),
    ("assignment",),
    ("centroids",),
    ("seeding",),
    ("engines",),
    ("lloyd",),
    ("checkpoint",),
    ("short_fits",),
    ("half_life",),
    ("watching",),
    ("estimators",),
    ("metrics", "surfaces", "representation"),
    ("analysis",),
    ("displays",),
    ("html_report",),
    ("export",),
    ("cli",),
    ("__init__",),
    ("__main__",),
)
LEVELS = {layer: level for level, layers in enumerate(ROOMS) for layer in layers}
# Every import of the package runs this module, so all layers may import the version and the public
# names from it.
PUBLIC = "__init__"


# The study shares the colours of the displays.
PRIVATE_BUT_SHARED = {"rekmeans.displays._style"}


def modules(source=SOURCE):
    return sorted(path for path in source.rglob("*.py"))


def layer_of(path):
    """Return the layer of a file; the study is one layer below all others."""
    return (
        path.relative_to(SOURCE).with_suffix("").parts[0]
        if path.is_relative_to(SOURCE)
        else PAPER.name
    )


def nodes_for_typing(tree):
    """Return the ids of the nodes under `if TYPE_CHECKING:`, which never run."""
    return {
        id(node)
        for guard in ast.walk(tree)
        if isinstance(guard, ast.If) and "TYPE_CHECKING" in ast.unparse(guard.test)
        for node in ast.walk(guard)
    }


def imported_layers(path):
    """Yield (layer, line, is_inside_a_function) for every import of a module of the package."""
    package = ("rekmeans", *path.relative_to(SOURCE).with_suffix("").parts[:-1])
    tree = ast.parse(path.read_text())
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    typing_only = nodes_for_typing(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in typing_only:
            base = package[: len(package) - node.level + 1] if node.level else ()
            dotted = (*base, *(node.module or "").split(".")) if node.module else base
            if dotted[:1] != ("rekmeans",):
                continue
            names = [dotted[1]] if len(dotted) > 1 else [alias.name for alias in node.names]
            for name in names:
                is_module = (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()
                yield name if is_module else PUBLIC, node.lineno, id(node) in inside


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_layer_imports_only_from_layers_above(path):
    layer = layer_of(path)
    assert layer in LEVELS, f"{layer} is not in the list of layers. Add it to ROOMS."
    for other, line, _ in imported_layers(path):
        if other in (layer, PUBLIC):
            continue
        assert LEVELS[other] <= LEVELS[layer], (
            f"{path}:{line} imports {other}, which is below {layer}"
        )


def absolute_imports(path):
    """Yield (module, names, line) for every import by full name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, [], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module, [alias.name for alias in node.names], node.lineno


def test_the_package_does_not_import_the_study():
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in modules()
        for module, names, line in absolute_imports(path)
        if module.split(".")[0] == PAPER.name or PAPER.name in names
    ]
    assert found == []
    assert "rekmeans_paper" not in (SOURCE / "__init__.py").read_text()


@pytest.mark.parametrize("path", modules(PAPER), ids=lambda path: path.name)
def test_the_study_imports_only_public_names_of_public_modules(path):
    for module, names, line in absolute_imports(path):
        if module.split(".")[0] != "rekmeans" or module in PRIVATE_BUT_SHARED:
            continue
        private = [part for part in (*module.split("."), *names) if re.match(r"_(?!_)", part)]
        assert not private, f"{path.name}:{line} imports {private[0]} from {module}"


def module_graph(source):
    """Return {module: imported modules} by dotted name, including imports inside functions."""
    names = {
        path: ".".join((source.name, *path.relative_to(source).with_suffix("").parts))
        for path in modules(source)
    }
    known = set(names.values())
    graph = {}
    for path, name in names.items():
        package = name.split(".")[:-1]
        targets = set()
        tree = ast.parse(path.read_text())
        typing_only = nodes_for_typing(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not node.level or id(node) in typing_only:
                continue
            base = package[: len(package) - node.level + 1] + (
                node.module.split(".") if node.module else []
            )
            for alias in node.names:
                if alias.name == "_core":  # compiled, and imports no Python module
                    continue
                dotted = ".".join([*base, alias.name])
                own = {dotted, ".".join(base)} & known
                targets |= own or ({".".join([*base, "__init__"])} & known)
        graph[name] = targets - {name}
    return graph


@pytest.mark.parametrize("source", [SOURCE, PAPER], ids=lambda source: source.name)
def test_imports_have_no_cycles_not_even_inside_functions(source):
    graph = module_graph(source)
    done = set()
    path = []

    def visit(name):
        if name in path:
            raise AssertionError(" -> ".join([*path[path.index(name) :], name]))
        if name in done:
            return
        path.append(name)
        for target in sorted(graph[name]):
            if not target.endswith(f"{source.name}.__init__"):  # public names are imported last
                visit(target)
        path.pop()
        done.add(name)

    for name in graph:
        visit(name)


def test_private_methods_are_called_only_in_their_layer():
    """Only the layer that defines `_name` may use `thing._name` of another object."""
    defined = {}
    trees = {path: ast.parse(path.read_text()) for path in (*modules(), *modules(PAPER))}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and re.match(r"_[a-z]", node.name):
                defined.setdefault(node.name, set()).add(layer_of(path))
    calls = [
        f"{path.relative_to(SOURCE.parent)}:{node.lineno} {ast.unparse(node)}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in defined
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        and ast.unparse(node.value) != "super()"
        and layer_of(path) not in defined[node.attr]
    ]
    assert calls == []


SHARED = [path for path in (*modules(), *modules(PAPER)) if layer_of(path) != "kernels"]


def test_shared_code_does_not_test_the_type_or_name_of_a_kernel_or_rule():
    """The tables in which engines list the supported types are the only exception."""
    kinds = {kernel.__name__ for kernel in KERNELS.values()} | {
        "Gram",
        "Stack",
        "Mahalanobis",
        "Kernel",
    }
    kinds |= {"Hard", "Fuzzy", "NeuralGas", "SomNeighbourhood"}
    names = set(KERNELS)
    found = []
    for path in SHARED:
        for node in ast.walk(ast.parse(path.read_text())):
            text = ast.unparse(node) if isinstance(node, ast.Call | ast.Compare) else ""
            if isinstance(node, ast.Call) and text.startswith("isinstance("):
                words = set(re.findall(r"\w+", ast.unparse(node.args[1])))
                found += [f"{path.name}:{node.lineno} {text}"] if words & kinds else []
            if isinstance(node, ast.Compare):
                sides = [
                    part
                    for side in (node.left, *node.comparators)
                    for part in getattr(side, "elts", [side])
                ]
                values = {side.value for side in sides if isinstance(side, ast.Constant)}
                found += [f"{path.name}:{node.lineno} {text}"] if values & names else []
    assert found == []


@pytest.mark.parametrize(
    ("package", "later"),
    [("analysis.summary", ("matplotlib", "jinja2", "rekmeans.displays", "rekmeans.html_report")),
     ("displays", ("jinja2", "rekmeans.html_report"))],
)  # fmt: skip
def test_analysis_does_not_import_displays_and_displays_do_not_import_the_report(package, later):
    code = (
        f"import sys, rekmeans.{package}; print([name for name in {later!r} if name in "
        f"sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout == "[]\n"
