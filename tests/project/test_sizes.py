"""No Python file of the two packages is longer than 300 lines."""

from support.paths import ROOT

MOST_LINES = 300  # above this a file holds more than one subject


def test_no_source_file_is_longer_than_300_lines():
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "src").rglob("*.py")}
    assert {str(path.relative_to(ROOT)): n for path, n in lines.items() if n > MOST_LINES} == {}
