"""More than fifty messy tables, each with its schema."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet

N = 400  # more than one block in tests that read in blocks
RANDOM = np.random.default_rng(7)
GROUP = RANDOM.permutation(np.arange(N) % 3)
A = (RANDOM.normal(size=N) + 6 * GROUP).round(3)
B = (RANDOM.normal(size=N) * 4 - 9 * (GROUP == 1)).round(2)
PRICE = RANDOM.uniform(900, 9000, N).round(2) + 5000 * GROUP
SPREAD = RANDOM.permutation(10**6)[:N]  # distinct integers that are far apart
NUMBERS = {"a": "number", "b": "number"}
GERMAN = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class MessyTable:
    """A table: its writer, the kinds of its columns, and its data frame, if there is one."""

    name: str
    write: Callable[[Path], Path]
    kinds: dict[str, str]
    frame: pd.DataFrame | None = None


TABLES: dict[str, MessyTable] = {}


def add(case, write, kinds, frame=None):
    assert case not in TABLES, case
    TABLES[case] = MessyTable(case, write, kinds, frame)


def columns(**more):
    """Return the columns a and b, and others, as text."""
    plain = {"a": [f"{x}" for x in A], "b": [f"{x}" for x in B]}
    return plain | {name: [str(cell) for cell in cells] for name, cells in more.items()}


def add_csv(case, cells, kinds, *, sep=",", end="t.csv", edit=lambda text: text, quoting=0):
    """Add a CSV file with cells of text; `edit` changes the text of the file."""

    def write(folder):
        text = edit(pd.DataFrame(cells).to_csv(index=False, sep=sep, quoting=quoting))
        path = folder / end
        packed = gzip.compress(text.encode()) if end.endswith(".gz") else text.encode()
        path.write_bytes(packed)
        return path

    add(case, write, kinds)


def lines_between(text, line, at):
    lines = text.split("\n")
    for place in at:
        lines.insert(place, line)
    return "\n".join(lines)


for sep, name in {",": "commas", ";": "semicolons", "|": "bars"}.items():
    add_csv(f"csv with {name}", columns(), NUMBERS, sep=sep)
add_csv("tsv", columns(), NUMBERS, sep="\t", end="t.tsv")
add_csv("gzip", columns(c=PRICE), NUMBERS | {"c": "number"}, end="t.csv.gz")
add_csv("tsv gzip", columns(), NUMBERS, sep="\t", end="t.tsv.gz")
add_csv(
    "decimal commas",
    {name: [cell.replace(".", ",") for cell in cells] for name, cells in columns().items()},
    NUMBERS,
    sep=";",
)
add_csv("everything quoted", columns(town=["Ulm"] * N), NUMBERS | {"town": "skipped"}, quoting=1)
add_csv("line breaks in cells", columns(note=["one\ntwo\n"] * N), NUMBERS | {"note": "skipped"})
add_csv(
    "a line of totals",
    columns(no=np.arange(N) + 1),
    NUMBERS | {"no": "id"},
    edit=lambda text: f"{text}99.5,1.5,Total\n",
)
add_csv("blank lines", columns(), NUMBERS, edit=lambda text: lines_between(text, "", (5, 90, 300)))
add_csv("blank lines first", columns(), NUMBERS, edit=lambda text: f"\n\n{text}")
add_csv(
    "rows without a value",
    columns(town=["Ulm"] * N),
    NUMBERS | {"town": "skipped"},
    edit=lambda text: lines_between(text, ",NA,Bari", (2, 3, 299)),
)
PRICES = {
    "dollars": [f"${x:,.2f}" for x in PRICE],
    "euros after": [f"{x:,.2f} €".translate(GERMAN) for x in PRICE],
    "percent": [f"{x:.2f} %" for x in PRICE],
    "parentheses for minus": [f"({x:.2f})" for x in PRICE],
    "thousands spaces": [f"{x:,.2f}".replace(",", " ") for x in PRICE],
    "apostrophes": [f"{x:,.2f}".replace(",", "\u2019") for x in PRICE],
    "typeset minus": [f"\u2212{x:.2f}" for x in PRICE],
    "grouped and not": [f"{x:,.1f}" if i % 2 else f"{x:.1f}" for i, x in enumerate(PRICE)],
}
for name, cells in PRICES.items():
    frame = pd.DataFrame({"a": A, "b": B, "price": cells})
    add_csv(f"csv {name}", columns(price=cells), NUMBERS | {"price": "number"})
    add(
        f"parquet {name}",
        lambda folder, frame=frame: write_parquet(folder, frame),
        NUMBERS | {"price": "number"},
        frame,
    )
IDS = {
    "consecutive ids": ("number", np.arange(N) + 1000, "id"),
    "ids by name": ("customer_id", SPREAD, "id"),
    "ids in camel case": ("orderID", SPREAD, "id"),
    "large ids": ("number", 2**60 + np.arange(N) * 10**12, "id"),
    "repeated integers": ("customer_id", np.arange(N) // 2, "number"),
    "spread integers": ("number", SPREAD, "number"),
}


def write_parquet(folder, frame, size=70, **options):
    table = pa.Table.from_pandas(frame, preserve_index=options.pop("index", False))
    parquet.write_table(table, folder / "t.parquet", row_group_size=size, **options)
    return folder / "t.parquet"


for name, (column, cells, kind) in IDS.items():
    frame = pd.DataFrame({column: cells, "a": A, "b": B})
    add_csv(f"csv {name}", {column: cells, "a": A, "b": B}, {column: kind} | NUMBERS)
    add(
        f"parquet {name}",
        lambda folder, frame=frame: write_parquet(folder, frame),
        {column: kind} | NUMBERS,
        frame,
    )
add_csv("iso dates", columns(day=["2020-01-31"] * N), NUMBERS | {"day": "skipped"})
add_csv("german dates", columns(day=["31.01.2020"] * N), NUMBERS | {"day": "skipped"})
add_csv("late text", columns(c=[*PRICE[:-1], "unknown"]), NUMBERS | {"c": "number"})
add_csv("late formatted number", columns(c=[*PRICE[:-1], "1,234.5"]), NUMBERS | {"c": "number"})
add_csv(
    "late decimals",
    columns(c=[*SPREAD[:-1], 0.5], d=[*SPREAD[1:], 7]),
    NUMBERS | {"c": "number", "d": "number"},
)
add_csv("late first value", columns(c=[*[""] * (N - 1), 3.25]), NUMBERS | {"c": "number"})
add_csv(
    "marks for missing",
    columns(
        c=[
            mark if i % 9 == 0 else x
            for i, (x, mark) in enumerate(zip(PRICE, "?-" * (N // 2), strict=True))
        ]
    ),
    NUMBERS | {"c": "number"},
)
add_csv(
    "some text",
    columns(c=["unknown" if i % 7 == 0 else x for i, x in enumerate(PRICE)]),
    NUMBERS | {"c": "number"},
)
add_csv(
    "much text",
    columns(c=["unknown" if i % 3 == 0 else x for i, x in enumerate(PRICE)]),
    NUMBERS | {"c": "skipped"},
)
add_csv("booleans", columns(c=[str(x % 2 == 0).lower() for x in SPREAD]), NUMBERS | {"c": "number"})
add_csv("a constant", columns(c=[5] * N), NUMBERS | {"c": "number"})
add_csv("an empty column", columns(c=[""] * N), NUMBERS | {"c": "skipped"})
add_csv("phone numbers", columns(c=["612 345 678"] * N), NUMBERS | {"c": "skipped"})
add_csv("versions", columns(c=["1.2.3"] * N), NUMBERS | {"c": "skipped"})
add_csv(
    "no header",
    columns(),
    {"x0": "number", "x1": "number"},
    edit=lambda text: text.partition("\n")[2],
)
add_csv(
    "row names",
    {"": [f"r{i}" for i in range(N)], **columns()},
    {"": "skipped"} | NUMBERS,
)
add_csv(
    "spaces in names",
    columns(),
    NUMBERS,
    edit=lambda text: text.replace("a,b", " a , b", 1),
)

MIXED = pd.DataFrame({"a": A, "b": B})
GAPPED = pd.array([None if i % 5 == 0 else int(x) for i, x in enumerate(SPREAD)], dtype="Int64")
FLAGS = pd.array([None if i % 5 == 0 else i % 2 == 0 for i in range(N)], dtype="boolean")
PARITY = pd.Categorical(["x", "y"] * (N // 2))
NARROW = {"a": A.astype(np.float32), "b": B.astype(np.float32), "c": GROUP.astype("i2")}
FRAMES = {
    "dates": (
        MIXED.assign(day=pd.Timestamp("2020-01-31")),
        NUMBERS | {"day": "skipped"},
    ),
    "narrow types": (
        pd.DataFrame(NARROW),
        NUMBERS | {"c": "number"},
    ),
    "nullable integers": (
        MIXED.assign(c=GAPPED),
        NUMBERS | {"c": "number"},
    ),
    "nullable booleans": (
        MIXED.assign(c=FLAGS),
        NUMBERS | {"c": "number"},
    ),
    "text ids": (MIXED.assign(row_id=[str(x) for x in SPREAD]), NUMBERS | {"row_id": "id"}),
    "a column without a value": (MIXED.assign(gone=[None] * N, town="Ulm"),
                                 NUMBERS | {"gone": "skipped", "town": "skipped"}),
    "a late value": (MIXED.assign(late=[*[np.nan] * (N - 1), 2.5]), NUMBERS | {"late": "number"}),
    "categories": (MIXED.assign(kind=PARITY), NUMBERS | {"kind": "skipped"}),
    "names and prices": (
        MIXED.assign(customer_id=SPREAD, price=PRICES["dollars"], town="Ulm"),
        NUMBERS | {"customer_id": "id", "price": "number", "town": "skipped"},
    ),
}  # fmt: skip
for name, (frame, kinds) in FRAMES.items():
    add(f"parquet {name}", lambda folder, frame=frame: write_parquet(folder, frame), kinds, frame)


def write_folder(folder, frame, kinds=(None, None)):
    (folder / "parts").mkdir()
    for number, (at, kind) in enumerate(zip((slice(150), slice(150, N)), kinds, strict=True)):
        part = frame[at] if kind is None else frame[at].astype(kind)
        part.to_parquet(folder / "parts" / f"{number}.parquet", index=False)
    return folder / "parts"


add(
    "folder of parquet",
    lambda folder: write_folder(folder, FRAMES["names and prices"][0]),
    FRAMES["names and prices"][1],
)
add(
    "pattern of parquet",
    lambda folder: write_folder(folder, FRAMES["names and prices"][0]) / "*.parquet",
    FRAMES["names and prices"][1],
)
add(
    "types that differ by file",
    lambda folder: write_folder(folder, MIXED, ({"a": "float32"}, {"a": "float64"})),
    NUMBERS,
)
add(
    "pandas index",
    lambda folder: write_parquet(folder, MIXED.set_axis([f"r{i}" for i in range(N)]), index=True),
    NUMBERS | {"__index_level_0__": "skipped"},
)


def write_feather(folder):
    table = pa.Table.from_pandas(FRAMES["names and prices"][0])
    feather.write_feather(table, folder / "t.feather", chunksize=90)
    return folder / "t.feather"


add("feather", write_feather, FRAMES["names and prices"][1])
add(
    "parquet lists and decimals",
    lambda folder: write_table(
        folder,
        pa.table(
            {
                "a": A,
                "b": pa.array([round(float(x), 2) for x in B]).cast(pa.decimal128(8, 2)),
                "list": [[1.0, 2.0]] * N,
            }
        ),
    ),
    NUMBERS | {"list": "skipped"},
)


def write_table(folder, table):
    parquet.write_table(table, folder / "t.parquet", row_group_size=64)
    return folder / "t.parquet"
