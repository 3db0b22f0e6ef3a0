"""Files with false sizes and damaged files raise one error that names them, in bounded memory."""

import io
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fuzz.command import command_server
from rekmeans.io import MAX_COLUMNS, selection
from rekmeans.io.selection import ColumnSelection, NumberedNames, UnreadableFileError
from rekmeans.table.file_table import read_table_file


def error_message(folder, *words):
    """Return the error message of a command with 1 GB of address space and half of it as memory."""
    answer = command_server().run(words, folder)
    assert (answer.status, answer.out) == (2, ""), answer
    answer.reject_unclean()
    assert answer.memory < 500e6
    return answer.err


def test_names_with_escape_codes_do_not_reach_the_terminal(tmp_path):
    (tmp_path / "t.csv").write_text("\x1b[2Ja,\x1b]0;title\x07b\n1,x\n2,y\n3,z\n")
    answer = command_server().run(["fit", "t.csv", "-k", 2], tmp_path)
    answer.reject_unclean()
    assert answer.status == 0
    assert "[2Ja" in answer.out
    assert "]0;title" in error_message(tmp_path, "fit", "t.csv", "-k", "2", "--drop", "none")


def npy_header(shape, dtype="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


def npz(path, **members):
    """Write an npz file with these raw members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)


def write_parquet_of_many_columns(path):
    parquet.write_table(
        pa.table({f"c{j}": pa.array([1.0]) for j in range(MAX_COLUMNS // 50)}), path
    )


def write_large(path):
    """Write a small file whose header declares a large table."""
    writers = {
        "wide.libsvm": lambda: path.write_text("1 1:1 300000000:2\n2 1:2\n1 2:1\n2 2:3\n"),
        "huge.svmlight": lambda: path.write_text("1 1:1 99999999999999999999:2\n2 1:2\n"),
        "hollow.npy": lambda: path.write_bytes(npy_header((0, 2_000_000_000))),
        "short.npy": lambda: path.write_bytes(npy_header((10**6, 1000)) + bytes(1000)),
        "large.npy": lambda: path.write_bytes(npy_header((10**12, 10**3))),
        "wide.npy": lambda: path.write_bytes(npy_header((1, 2_000_000)) + bytes(16_000_000)),
        "short.npz": lambda: npz(path, X=npy_header((10**9, 2)) + bytes(10**6)),
        "wide.csv": lambda: path.write_text(",".join(f"{j:x}" for j in range(150_000)) + "\n"),
        "wide.tsv": lambda: path.write_text("\t".join("1" for j in range(400_000)) + "\n"),
    }
    writers[path.name]()


LARGE = {
    "wide.libsvm": ("300,000,000 columns", "--max-columns"),
    "huge.svmlight": ("column index", "32-bit"),
    "hollow.npy": ("no rows",),
    "short.npy": ("truncated", "8 GB", "1 kB"),
    "large.npy": ("truncated", "8 PB"),
    "wide.npy": ("2,000,000 columns",),
    "short.npz": ("truncated", "16 GB", "1 MB"),
    "wide.csv": ("150,000 columns",),
    "wide.tsv": ("400,000 columns",),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_small_file_does_not_take_the_machine(name, tmp_path):
    write_large(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 20e6
    sentence = error_message(tmp_path, "fit", name, "-k", "2")
    assert all(word in sentence for word in (name, *LARGE[name])), sentence
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_table_that_grows_while_it_is_read_stops_at_the_memory(tmp_path, monkeypatch):
    """Compressed CSV and feather files do not declare their rows, and zeros compress well."""
    monkeypatch.setattr(selection, "machine_memory", lambda: 1 << 20)
    frame = pa.table({name: np.arange(100_000.0) for name in "ab"})
    parquet.write_table(frame, tmp_path / "t.parquet")
    with (
        pa.OSFile(str(tmp_path / "t.feather"), "wb") as file,
        pa.ipc.new_file(file, frame.schema) as writer,
    ):
        writer.write_table(frame)
    with pa.output_stream(str(tmp_path / "t.csv.gz"), compression="gzip") as stream:
        stream.write(b"a,b\n" + b"1,2\n" * 100_000)
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((100_000, 2)))
    np.save(tmp_path / "t.npy", np.zeros((100_000, 20), np.bool_))
    for name in ("t.parquet", "t.feather", "t.csv.gz", "t.npz", "t.npy"):
        with pytest.raises(
            UnreadableFileError, match=rf"^{name} would need .* this machine has 1\.05 MB"
        ):
            read_table_file(tmp_path / name)


def test_a_csv_is_refused_before_pyarrow_finds_no_memory(tmp_path):
    """Earlier, 91 000 columns took 800 MB, and pyarrow aborted with std::bad_alloc."""
    (tmp_path / "t.csv").write_text((",".join(["1e9"] * 91_000) + "\n") * 2)
    message = error_message(tmp_path, "fit", "t.csv", "-k", "2")
    assert "t.csv would need 2.37 GB of memory (91,000 columns)" in message
    assert message.endswith(" Use fewer columns.\n")  # blocks have all columns too


def test_a_wide_csv_of_words_takes_the_same_memory_per_column(tmp_path):
    """Earlier, pyarrow reserved the bytes of a whole row for each column, here 6 GB."""
    names, cells = (
        ",".join(row) for row in zip(*((f"c{j}", "a" * 10) for j in range(24_000)), strict=True)
    )
    (tmp_path / "t.csv").write_text(f"{names}\n{cells}\n")
    assert "t.csv has no numeric column" in error_message(tmp_path, "fit", "t.csv", "-k", "2")


def test_more_columns_are_taken_where_they_are_asked_for(tmp_path):
    (tmp_path / "t.libsvm").write_text("1 1:1 150000:2\n2 1:2\n")
    with pytest.raises(UnreadableFileError, match="--max-columns 150000"):
        read_table_file(tmp_path / "t.libsvm")
    table = read_table_file(tmp_path / "t.libsvm", ColumnSelection(max_columns=150_000))
    assert table.X.shape == (2, 150_000)
    write_parquet_of_many_columns(tmp_path / "t.parquet")
    with pytest.raises(UnreadableFileError, match="2,000 columns, but at most 1,999"):
        read_table_file(tmp_path / "t.parquet", ColumnSelection(max_columns=1999))
    sentence = error_message(tmp_path, "fit", "t.parquet", "-k", "2", "--max-columns", "3")
    assert "at most 3 are allowed" in sentence


def test_numbered_names_are_a_list_that_is_not_made():
    names = NumberedNames(12)
    plain = [f"x{j}" for j in range(12)]
    assert names == plain
    assert plain != NumberedNames(11)
    assert (list(names), names[3:5], names[-1], len(names)) == (plain, plain[3:5], "x11", 12)
    assert all(name in names and names.index(name) == j for j, name in enumerate(plain))
    for name in (
        "x12",
        "x01",
        "x",
        "y",
        "",
        "x-1",
        "x1 ",
        "x\N{SUPERSCRIPT TWO}",
        3,
        None,
        "x" + "9" * 10_000,
    ):
        assert name not in names
        with pytest.raises(ValueError, match="is not a column"):
            names.index(name)
    assert len(NumberedNames(10**15)) == 10**15


GOOD = npy_header((2, 2)) + np.arange(4.0).tobytes()
RECORDS = [("a", "<f8"), ("b", "<i4")]
DAMAGED = {
    "unclosed.npy": (GOOD.replace(b"(2, 2)", b"(2, 2 "), "damaged: its header"),
    "comma.npy": (GOOD.replace(b"'shape'", b"'shape "), "damaged: its header"),
    "type.npy": (GOOD.replace(b"<f8", b"<q9"), "damaged: its header"),
    "deep.npy": (npy_header((2, 2)).replace(b"(2, 2)", b"(" * 60), "damaged: its header"),
    "negative.npy": (GOOD.replace(b"(2, 2), ", b"(-2, 2),"), "shape (-2, 2)"),
    "giant.npy": (npy_header((10**30, 2)), "PB"),
    "cut.npy": (GOOD[:-1], "truncated"),
    "header.npy": (GOOD[:40], "damaged: its header"),
    "magic.npy": (GOOD[:7], "damaged"),
    "newer.npy": (GOOD[:6] + b"\x09" + GOOD[7:], "damaged"),
    "objects.npy": (npy_header((2, 2), "|O") + pickle.dumps([1, 2]), "Python objects"),
    "records.npy": (npy_header((2,), RECORDS) + bytes(24), "2-D array of numbers"),
    "complex.npy": (npy_header((2, 2), "<c16") + bytes(64), "2-D array of numbers"),
    "text.npy": (npy_header((2, 2), "<U3") + bytes(48), "2-D array of numbers"),
    "dates.npy": (npy_header((2, 2), "<M8[s]") + bytes(32), "2-D array of numbers"),
    "narrow.npy": (npy_header((2, 0)), "no columns"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_arrays_are_refused_in_one_sentence(name, tmp_path):
    data, words = DAMAGED[name]
    packed = name.replace("npy", "npz")
    (tmp_path / name).write_bytes(data)
    npz(tmp_path / packed, X=data)
    for file in (name, packed):
        with pytest.raises(UnreadableFileError) as caught:
            read_table_file(tmp_path / file)
        sentence = str(caught.value)
        assert sentence.startswith(f"{file} ")
        assert words in sentence
        assert len(sentence) < 300


def test_damaged_archives_are_refused_in_one_sentence(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3))
    np.savez_compressed(tmp_path / "good.npz", X=X)
    data = (tmp_path / "good.npz").read_bytes()
    flipped = bytearray(data)
    flipped[200:260] = bytes(60)  # in the compressed values
    with zipfile.ZipFile(tmp_path / "bz2.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("X.npy", GOOD)
    locked = bytearray(data)
    for at in (6, data.index(b"PK\1\2") + 8):
        locked[at] |= 1  # marks a member as encrypted
    bad = {"flipped.npz": bytes(flipped), "cut.npz": data[:-30], "locked.npz": bytes(locked)}
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    np.savez(tmp_path / "objects.npz", X=X, y=np.array([{}, None] * 25))
    np.savez(tmp_path / "long.npz", X=X, y=np.arange(49))
    for name in (*bad, "bz2.npz", "objects.npz", "long.npz"):
        with pytest.raises(UnreadableFileError, match=rf"^{name} "):
            read_table_file(tmp_path / name)
