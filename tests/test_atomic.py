"""Output files appear together and complete, or not at all."""

import pytest

from rekmeans.atomic import atomic_write, atomic_writes


def test_outputs_are_replaced_together(tmp_path):
    paths = [tmp_path / "new" / name for name in ("a.txt", "b.txt")]
    for text in ("one", "two"):
        with atomic_writes(paths) as parts:
            for part in parts:
                part.write_text(text)
            assert not any(path.exists() and path.read_text() == text for path in paths)
        assert [path.read_text() for path in paths] == [text, text]
    assert sorted(tmp_path.glob("new/*")) == paths
    assert sorted(tmp_path.glob("new/.*")) == []


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_keeps_earlier_outputs_and_leaves_no_other_files(error, tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_text("earlier")

    def fail():
        with atomic_writes(paths) as parts:
            parts[0].write_text("later")
            raise error

    with pytest.raises(error):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert paths[0].read_text() == "earlier"
    paths[1].mkdir()  # detected before the first file is replaced

    def collide():
        with atomic_writes(paths) as parts:
            for part in parts:
                part.write_text("later")

    with pytest.raises(IsADirectoryError):
        collide()
    assert paths[0].read_text() == "earlier"


def test_a_folder_created_for_a_failed_write_is_removed(tmp_path):
    def fail():
        with atomic_writes([tmp_path / "new" / "a.txt"]) as parts:
            parts[0].write_text("half")
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - any
        fail()
    assert list(tmp_path.iterdir()) == []


def test_files_get_the_default_permissions(tmp_path):
    (tmp_path / "plain.txt").touch()
    with atomic_write(tmp_path / "ours.txt") as part:
        part.touch(mode=0o600)
    assert (tmp_path / "ours.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode
