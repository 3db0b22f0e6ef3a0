"""What a command of another package may use; the entry point group `rekmeans.commands` names its
function.
"""

from ._console import is_watched, print_json, print_lines, print_table
from ._options import FLAG, RUN, Debug, Json, Quiet
from ._requirements import refuse_missing_libraries

__all__ = [
    "FLAG",
    "RUN",
    "Debug",
    "Json",
    "Quiet",
    "is_watched",
    "print_json",
    "print_lines",
    "print_table",
    "refuse_missing_libraries",
]
