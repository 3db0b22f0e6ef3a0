"""Commands of other packages are imported only when called, and broken ones are harmless."""

from importlib.metadata import EntryPoint, EntryPoints, entry_points

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from rekmeans.cli import commands, status

FOREIGN = """
import typer
def greet(name: str, loud: bool = False):
    \"\"\"Greet somebody.\"\"\"
    if name == "nobody":
        raise ValueError("name somebody to greet.")
    typer.echo(f"hello {name}".upper() if loud else f"hello {name}")
"""


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Register a working command, one whose library is missing, and one without its function."""
    (tmp_path / "greeting.py").write_text(FOREIGN)
    (tmp_path / "needy.py").write_text("import a_library_that_is_nowhere  # noqa")
    monkeypatch.syspath_prepend(tmp_path)
    names = {
        "greet": "greeting:greet",
        "beg": "needy:beg",
        "vanish": "greeting:vanish",
        "fit": "greeting:greet",
    }
    found = EntryPoints(EntryPoint(name, value, commands.GROUP) for name, value in names.items())
    monkeypatch.setattr(commands, "entry_points", found.select)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def no_import(monkeypatch):
    def load(self):
        raise AssertionError(f"{self.name} was imported")

    monkeypatch.setattr(EntryPoint, "load", load)


def test_reproduce_is_found_through_its_entry_point():
    assert [plugin.value for plugin in entry_points(group=commands.GROUP, name="reproduce")] == [
        "rekmeans_paper.command:reproduce"
    ]


def test_a_foreign_command_runs_with_its_options_and_errors(plugins, capsys):
    assert status(["greet", "world", "--loud"]) == 0
    assert capsys.readouterr().out == "HELLO WORLD\n"
    assert status(["greet", "nobody"]) == 2
    assert capsys.readouterr().err == "rekmeans: name somebody to greet.\n"


def test_help_lists_all_and_a_broken_command_says_why(plugins, capsys):
    assert status(["--help"]) == 0
    page = capsys.readouterr().out
    assert "Greet somebody." in page
    assert "Cluster a table" in page  # the command of this package keeps its name
    lines = {
        name: next(line for line in page.splitlines() if f"│ {name} " in line)
        for name in ("beg", "vanish")
    }
    assert "No module named 'a_library_that_is_nowhere'" in lines["beg"]
    assert "Not available" in lines["vanish"]


@pytest.mark.parametrize("arguments", [["beg"], ["beg", "--much", "more"]])
def test_a_broken_command_is_refused_in_one_sentence(arguments, plugins, capsys):
    assert status(arguments) == 2
    error = capsys.readouterr().err
    assert (
        error == "rekmeans: the command beg cannot be imported: No module named "
        "'a_library_that_is_nowhere'\n"
    )


def test_other_commands_import_none_of_them(plugins, no_import, capsys):
    assert status(["engines"]) == 0
    assert status(["fit", "--help"]) == 0
    assert "Cluster a table" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="greet was imported"):
        commands.PluginGroup(name="rekmeans").get_command(None, "greet")


def test_a_mistyped_name_is_compared_with_them_too(plugins, capsys):
    assert status(["gret"]) == 2
    assert "Did you mean 'greet'" in capsys.readouterr().err
