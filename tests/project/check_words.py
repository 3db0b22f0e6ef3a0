"""Find expressions that are not plain English in code and pages, as part of `make lint`.

The script reads all tracked source files and pages, with their comments, docstrings, messages and
prose. It prints what to write instead of each expression it finds.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".pyi", ".hpp", ".cpp", ".md", ".rst", ".j2", ".toml", ".cmake", ".yml", ".cff"}
NAMES = {"Makefile", "CMakeLists.txt"}
# {expression: replacement}. Expressions are regular expressions of whole words and ignore case. A
# space also matches a line break in a comment or between two string literals.
EXPRESSIONS = {
    r"(a|the|no|one|each|every|this|that|two|several) cards?": "GPU",
    r"(left|leaves?|leaving) (it |them )?out": "ignored, dropped, excluded or without",
    r"(says?|said) nothing": "is ignored",
    r"(takes?|took|taking) no part": "is ignored",
    r"(is|are|was|were|be|been) refused": "raises an error, or is rejected",
    r"(refuse|refuses|refusing|refusals?)": "raises an error, rejects, or error",
    r"(?<!regardless\s)(?<!independent\s)of which": "two sentences",
    r"in whose": "two sentences",
    r"from which on": "from ... on, or starting with",
    r"mend(s|ed|ing)?": "fix",
    r"anew": "again, or a verb such as recompute",
    r"renew(s|ed|ing)?": "update, or recompute",
    r"said aloud": "reported",
    r"ways? out": "the fix",
    r"no more than that": "nothing else, or the limit",
    r"by hand of": "by, or with",
    r"as heavy as": "weighted by",
    r"as many as": "the same number as, or up to",
    r"data sets?": "dataset",
    r"drawn (tables?|sets?|data|rows)": "synthetic, random or sampled",
    r"dirt": "outliers, or gross errors",
    r"at hand": "available",
    r"front doors?": "interface",
    r"untried": "untested",
    r"(is|are|was|were|be) looked at": "is read, or is inspected",
    r"(is|are|was|were|be) heard": "is handled, or interrupts",
    r"(is|are|was|were|be) told": "gets, or is passed",
    r"without a word": "silently, or implicitly",
    r"in (a|one) sentence": "with an error message",
    r"knows? nothing": "does not use, or does not depend on",
    r"for want of": "because there is no",
    r"(?-i:_?MOST_[A-Z_]+)": "MAX_",
    r'"""(What|How)(?! to)': "a verb in the imperative, or a noun phrase with an article",
}
# {(path or glob, expression): reason}
ALLOWED = {
    ("tests/project/check_words.py", "*"): "the list itself",
    ("tests/project/test_words.py", "*"): "examples of the expressions",
    ("CHANGELOG.md", "*"): "history, which is not rewritten",
}
# A space, or a line break with the marks of a comment or of two adjacent string literals.
GAP = r"(?:[^\S\n]|\n[^\S\n]*(?:(?:#|//|\*|>)[^\S\n]*)?|[\"']\s*\n\s*[rfb]?[\"'])+"


class Finding(NamedTuple):
    """An expression in a file, and what to write instead."""

    path: str
    line: int
    found: str
    expression: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found!r}. Write: {self.instead}."


def compile_expression(expression: str) -> re.Pattern[str]:
    """Return a regular expression that matches whole words, even across line breaks."""
    return re.compile(rf"(?<!\w){expression.replace(' ', GAP)}(?!\w)", re.IGNORECASE)


COMPILED = {expression: compile_expression(expression) for expression in EXPRESSIONS}


def find_in_text(text: str, path: str = "") -> Iterator[Finding]:
    """Yield the expressions in a text."""
    for expression, pattern in COMPILED.items():
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found = re.sub(r"\s+", " ", match[0])
            yield Finding(path, line, found, expression, EXPRESSIONS[expression])


def tracked_files() -> list[str]:
    """Return the paths of the tracked source files and pages."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [
        path
        for path in listed
        if (Path(path).suffix in SUFFIXES or Path(path).name in NAMES) and (ROOT / path).is_file()
    ]


def allowed_entries(finding: Finding) -> list[tuple[str, str]]:
    """Return the entries of the allowlist that match a finding."""
    return [
        (path, expression)
        for path, expression in ALLOWED
        if fnmatch(finding.path, path) and expression in ("*", finding.expression)
    ]


def all_findings() -> list[Finding]:
    """Return the findings in all files, including the allowed ones."""
    findings = []
    for path in tracked_files():
        findings += find_in_text((ROOT / path).read_text(encoding="utf-8"), path)
    return findings


def find_errors() -> list[Finding]:
    """Return the findings that the allowlist does not cover."""
    return [finding for finding in all_findings() if not allowed_entries(finding)]


if __name__ == "__main__":
    errors = find_errors()
    print(*errors, sep="\n" if errors else "")
    sys.exit(1 if errors else 0)
