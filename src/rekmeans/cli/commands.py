"""The command `rekmeans`: built-in commands, and commands of other packages from entry points."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, NoReturn

import typer
from rich.markup import escape
from typer.core import TyperGroup

from .. import __version__
from ._options import FLAG
from .apply import export, predict, report
from .fit import fit
from .inspect import inspect
from .machine import bench, engines
from .plugin import print_lines

GROUP = "rekmeans.commands"  # entry point group; each entry point is a typer command function
ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}


class PluginGroup(TyperGroup):
    """A command group that imports entry points only when they are called or listed in the help."""

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_plugins(entry_points(group=GROUP))
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            # for an unknown name, load all commands to suggest similar ones
            self._add_plugins(entry_points(group=GROUP, name=cmd_name) or entry_points(group=GROUP))
        return super().get_command(ctx, cmd_name)

    def _add_plugins(self, plugins: Iterable[EntryPoint]) -> None:
        for plugin in plugins:
            if plugin.name not in self.commands:
                self.add_command(_plugin_command(plugin), plugin.name)


def _plugin_command(plugin: EntryPoint) -> Any:
    """Return the command of an entry point, or one that reports why it cannot be imported."""
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    try:
        alone.command(plugin.name)(plugin.load())
    except (ImportError, AttributeError) as error:
        reason = f"the command {plugin.name} cannot be imported: {error}"

        def fail() -> NoReturn:
            raise ImportError(reason)

        alone.command(
            plugin.name, help=escape(f"Not available: {reason}"), context_settings=ANYTHING
        )(fail)
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=PluginGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        print_lines(f"rekmeans {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Exit status: 0 success · 2 error, with a message on stderr · 130 interrupted by Ctrl-C."
)
def rekmeans(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar=FLAG,
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Rectified Euler k-means: robust clustering of tables with errors and missing values.

    [bold]rekmeans fit --demo[/]                       try it on a built-in table
    [bold]rekmeans fit wine.csv -k 3[/]                find three clusters in a table
    [bold]rekmeans fit wine.csv -k 3 --label class[/]  compare with known classes
    [bold]rekmeans inspect wine.csv[/]                 show how each column is read
    [bold]rekmeans predict wine-rekmeans/model.safetensors new.csv[/]

    A fit writes its outputs to the folder NAME-rekmeans next to the table. Start
    with report.html in that folder. Columns that are not numeric are skipped with
    a note. The table may contain missing values and gross errors.
    """


for command in (fit, inspect, predict, report, export, engines, bench):
    app.command()(command)
