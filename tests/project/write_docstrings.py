"""Write the constructors and docstrings of the estimators from their parameter table.

The table is rekmeans.estimators._parameter_table. The script, run by `make docstrings`, writes the
constructors and the sections Parameters and Attributes of the docstrings. With --check, it writes
nothing, and exits with status 1 if a file is outdated.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import rekmeans.estimators
from rekmeans.estimators._parameter_table import Entry, Interface, Parameter, find_argument

FOLDER = Path(rekmeans.estimators.__file__).parent
WIDTH = 100
# Not narrower, because users may register more names
ANNOTATIONS = {
    "kernel": "str",
    "engine": "str",
    "init": "str | ArrayLike | Callable[..., ArrayLike]",
    "random_state": "Any",
}
ANNOTATIONS_OF_TYPES = {
    "(int, int)": "tuple[int, int]",
    "sequence": "Sequence[Any]",
    "path": "os.PathLike[str]",
    '"auto"': 'Literal["auto"]',
}
SECTIONS = re.compile(r"^ *(?=\S.*\n *-{4,}$)", flags=re.MULTILINE)


def format_default(value: object) -> str:
    """Return a default as code, with double quotes and short exponents."""
    if isinstance(value, str):
        return f'"{value}"'
    return re.sub(r"e-0", "e-", repr(value))


def format_annotation(name: str, parameter: Parameter) -> str:
    """Return the annotation of a constructor argument from its type in the docstring."""
    if name in ANNOTATIONS:
        return ANNOTATIONS[name]
    parts = re.findall(r"\{.*?\}|\(.*?\)|[^, ]+", parameter.type)
    names = [re.sub(r"^\{(.*)\}$", r"Literal[\1]", part) for part in parts if part != "or"]
    return " | ".join(ANNOTATIONS_OF_TYPES.get(name, name) for name in names)


def format_text(text: str, indent: str) -> str:
    """Return paragraphs and lists, wrapped and indented."""
    blocks = []
    for paragraph in textwrap.dedent(text).strip().split("\n\n"):
        items = re.split(r"\n(?=- )", paragraph)
        hanging = [indent + ("  " if item.startswith("- ") else "") for item in items]
        lines = [
            textwrap.fill(
                " ".join(item.split()),
                WIDTH,
                initial_indent=indent,
                subsequent_indent=after,
                break_long_words=False,
                break_on_hyphens=False,
            )
            for item, after in zip(items, hanging, strict=True)
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def format_entry(name: str, entry: Entry, indent: str) -> str:
    """Return one entry of a section."""
    default = ""
    if isinstance(entry, Parameter):
        default = f", default={format_default(entry.default)}"
    return f"{indent}{name} : {entry.type}{default}\n{format_text(entry.text, indent + '    ')}\n"


def format_section(title: str, entries: Iterable[tuple[str, Entry]], indent: str) -> str:
    """Return a section of a docstring."""
    text = "".join(format_entry(name, entry, indent) for name, entry in entries)
    return f"{indent}{title}\n{indent}{'-' * len(title)}\n{text}"


def format_constructor(interface: Interface) -> str:
    """Return the source of the constructor."""
    arguments = [
        f"{name}: {format_annotation(name, parameter)} = {format_default(parameter.default)}"
        for name, parameter in interface.parameters.items()
    ]
    arguments.insert(interface.n_positional, "*")
    lines = [
        "    def __init__(",
        "        self,",
        *(f"        {argument}," for argument in arguments),
        "    ) -> None:",
        *(f"        self.{name} = {name}" for name in interface.parameters),
    ]
    return "\n".join(lines)


def replace_section(docstring: str, title: str, section: str) -> str:
    """Return a docstring, as it stands in the source, with a section replaced."""
    starts = [found.start() for found in SECTIONS.finditer(docstring)]
    ends = [*starts[1:], docstring.rindex("\n") + 1]
    for start, end in zip(starts, ends, strict=True):
        if docstring[start:].lstrip().startswith(title):
            gap = "\n" if end < docstring.rindex("\n") else ""
            return docstring[:start] + section + gap + docstring[end:]
    raise ValueError(f"The docstring has no section {title}: {docstring[:80]!r}")


def edited_ranges(
    tree: ast.Module, module: object, lines: list[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, new text) of each generated part, lines counted from 0."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            kind = getattr(module, node.name)
            if hasattr(kind, "_interface"):
                yield from edited_ranges_of_class(node, kind._interface, lines)


def edited_ranges_of_class(
    node: ast.ClassDef, interface: Interface, lines: list[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield the generated parts of one class."""
    if "Parameters\n" in (ast.get_docstring(node) or ""):
        start, end, text = source_of_docstring(node, lines)
        for title in ("Parameters", "Attributes"):
            entries = getattr(interface, title.lower())
            text = replace_section(text, title, format_section(title, entries.items(), " " * 4))
        yield start, end, text
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        if method.name == "__init__":
            yield method.lineno - 1, method.end_lineno, format_constructor(interface)
        elif "Parameters\n" in (ast.get_docstring(method) or ""):
            start, end, text = source_of_docstring(method, lines)
            arguments = [argument.arg for argument in method.args.args[1:]]
            entries = [(name, find_argument(name, method.name, node.name)) for name in arguments]
            section = format_section("Parameters", entries, " " * 8)
            yield start, end, replace_section(text, "Parameters", section)


def source_of_docstring(
    node: ast.ClassDef | ast.FunctionDef, lines: list[str]
) -> tuple[int, int, str]:
    """Return the first and last line of a docstring and its source."""
    first = node.body[0]
    start, end = first.lineno - 1, first.end_lineno
    return start, end, "\n".join(lines[start:end])


def generate(path: Path) -> str:
    """Return the source of a module, with the generated parts written again."""
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    module = importlib.import_module(f"rekmeans.estimators.{path.stem}")
    for start, end, text in sorted(edited_ranges(ast.parse(source), module, lines), reverse=True):
        lines[start:end] = text.split("\n")
    return "\n".join(lines)


def modules() -> list[Path]:
    """Return the files of the estimators."""
    return sorted(path for path in FOLDER.glob("*.py") if path.stem != "__init__")


def outdated_modules() -> list[Path]:
    """Return the files that differ from what the table gives."""
    return [path for path in modules() if path.read_text(encoding="utf-8") != generate(path)]


if __name__ == "__main__":
    outdated = outdated_modules()
    if "--check" not in sys.argv[1:]:
        for path in outdated:
            path.write_text(generate(path), encoding="utf-8")
    print(*outdated, sep="\n" if outdated else "")
    sys.exit(bool(outdated) and "--check" in sys.argv[1:])
