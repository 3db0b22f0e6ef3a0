"""The check of `make lint` for expressions that are not plain English finds each of them."""

import pytest

from project import check_words

# For each expression: a text with it, and a similar text without it.
EXAMPLES = {
    "GPU": ("# rows stay on the card", "# rows stay on the cardboard"),
    "left out": ("far values are left out", "model.left_out_ stays"),
    "says nothing": ("a missing cell says nothing", "the paper says that nothing changes"),
    "takes no part": ("the column takes no part", "the column takes part"),
    "is refused": ("a negative weight is refused", "a negative weight raises"),
    "refusal": ("# the refusals of all readers", "refuse_unwritable(path)"),
    "of which": ("# rows, of which some are equal", "regardless of which engine runs"),
    "in whose": ("a block in whose rows a cell is missing", "in a block whose rows are sorted"),
    "from which on": ("a size from which on tasks are split", "the size from which it is taken"),
    "mend": ("# mended below", "we recommend it"),
    "anew": ("the scale is made anew", "a new scale"),
    "renew": ("sums are renewed", "renewable"),
    "said aloud": ("said aloud by a warning", "said by a warning"),
    "way out": ("the way out is an extra", "the way outliers are found"),
    "no more than that": ("a copy, and no more than that", "no more than 5"),
    "by hand of": ("sums by hand of two rows", "by hand"),
    "as heavy as": ("a candidate is as heavy as its rows", "a heavy candidate"),
    "as many as": ("as many as there are rows", "as many clusters as classes"),
    "data set": ("the data sets of the paper", "data_sets = dataset"),
    "drawn": ("fits on drawn tables", "rows are drawn with equal probability"),
    "dirt": ("NMI under dirt", "dirty rows"),
    "at hand": ("the compilers at hand", "at handles"),
    "front door": ("the front door of the package", "the door"),
    "untried": ("an untried device", "tried"),
    "looked at": ("every cell is looked at", "the cell at row 3"),
    "heard": ("Ctrl-C is heard", "Ctrl-C interrupts"),
    "told": ("an engine is told the number", "toll"),
    "without a word": ("never gathered without a word", "without a wordlist"),
    "in a sentence": ("reported in one sentence", "one sentence of the paper"),
    "knows nothing": ("the loop knows nothing of engines", "nothing is known"),
    "for want of": ("slow for want of memory", "the want"),
    "MOST_": ("MOST_ROWS = 3", "most_rows = 3"),
    "docstring": ('"""What both classes share."""', '"""Return the shared part."""'),
    "docstring with How": ('    """How a row is read."""', '"""How to read a row."""'),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_check_finds_the_expression_and_only_that(name):
    bad, good = EXAMPLES[name]
    found = list(check_words.find_in_text(bad))
    assert found, bad
    assert all(finding.instead for finding in found)
    assert list(check_words.find_in_text(good)) == []


def test_the_examples_cover_every_expression():
    found = {
        finding.expression
        for bad, _ in EXAMPLES.values()
        for finding in check_words.find_in_text(bad)
    }
    assert found == set(check_words.EXPRESSIONS)


@pytest.mark.parametrize(
    "text",
    [
        "# rows are left\n    # out of the sums",
        "// rows are left\n// out of the sums",
        "f'rows are left '\n    f'out of the sums'",
        '"rows are left "\n    "out of the sums"',
        "rows are left\nout of the sums",
        "Left out rows",
    ],
)
def test_an_expression_is_found_across_lines_and_in_capitals(text):
    (finding,) = check_words.find_in_text(f"first line\n{text}", "file.py")
    assert finding.line == 2
    assert str(finding).startswith("file.py:2: ")
    assert "Write: ignored, dropped" in str(finding)


def test_the_texts_of_the_repository_are_plain_english():
    assert [str(error) for error in check_words.find_errors()] == []


def test_the_check_fails_outside_the_allowlist(monkeypatch):
    monkeypatch.setattr(check_words, "ALLOWED", {("CHANGELOG.md", "*"): "history"})
    paths = {error.path for error in check_words.find_errors()}
    assert paths >= {"tests/project/check_words.py", "tests/project/test_words.py"}


def test_every_entry_of_the_allowlist_is_used_and_has_a_reason():
    findings = check_words.all_findings()
    used = {entry for finding in findings for entry in check_words.allowed_entries(finding)}
    assert used == set(check_words.ALLOWED)
    assert all(check_words.ALLOWED.values())
