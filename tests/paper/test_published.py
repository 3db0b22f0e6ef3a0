"""The printed values of the paper, and the values after the rotated columns are corrected."""

from rekmeans_paper import published
from rekmeans_paper import reproduction_tables as tables


def test_every_table_of_the_paper_has_eleven_datasets():
    assert len(published.SETS) == 11
    assert len(published.ALPHAS) == 47 == len(set(published.ALPHAS))
    for measure in ("NMI", "ACC"):
        assert list(published.PUBLISHED[measure]) == ["EulerK", "REK1", "REK2"]
        for printed in published.PUBLISHED[measure].values():
            assert tuple(printed) == published.SETS
            assert all(0 < mean < 100 and 0 <= std < 3 for mean, std in printed.values())
    assert set(published.KAPPA) == {"halfmoon", *published.SETS}


def test_correcting_the_rotated_columns_permutes_nmi_and_keeps_acc():
    for method in published.PRINTED_METHODS:
        as_printed, as_read = (
            [value_of("NMI", method, name) for name in published.SETS]
            for value_of in (published.printed_value, published.reference_value)
        )
        assert sorted(as_printed) == sorted(as_read)
        assert sum(a != b for a, b in zip(as_printed, as_read, strict=True)) == 3
    assert published.reference_value("ACC", "REK1", "yeast") == published.printed_value(
        "ACC", "REK1", "yeast"
    )
    assert tables.comparison(68.07, "NMI", "REK1", "isolet") == {
        "printed": 52.36, "printed_std": 0.0, "read": 68.07, "difference": 0.0, "verdict": "level",
    }  # fmt: skip
