"""Shared assertions on error messages and on fits that agree to the last bit."""

import re

import pytest
from numpy.testing import assert_array_equal

FITTED = (
    "labels_",
    "centroids_",
    "cluster_centers_",
    "deviation_",
    "inertia_",
    "n_iter_",
    "alpha_",
)
FIX = re.compile(
    r"must (be|have) |"
    r"(: |\. )(add|use|fill|drop|pass|lower|raise|set|select|remove|give|save|yield|convert) ",
    re.I,
)


def raises_mentioning(error, *words):
    """Return pytest.raises for a message that contains all words, in any order."""
    return pytest.raises(
        error, match="(?s)" + "".join(f"(?=.*{re.escape(str(word))})" for word in words)
    )


def assert_one_sentence(error):
    """Check that a message is one sentence on one line."""
    sentence = str(error)
    assert sentence.endswith("."), sentence
    assert "\n" not in sentence, sentence
    assert ". " not in sentence, sentence


def assert_message_states_fix(error):
    """Check for one line that states the problem and then the valid values or the fix."""
    sentence = str(error)
    assert sentence.endswith("."), sentence
    assert "\n" not in sentence, sentence
    assert sentence.count(". ") <= 1, sentence
    assert FIX.search(sentence), sentence


def assert_same_histories(one, two):
    """Compare the bits of two histories, except for the seconds."""
    assert one.keys() == two.keys()
    for name in one.keys() - {"seconds"}:
        assert_array_equal(one[name], two[name], err_msg=name)


def assert_same_fit(one, two):
    """Compare the bits of all fitted attributes and of the history."""
    for name in FITTED:
        assert hasattr(one, name) == hasattr(two, name), name
        if hasattr(one, name):
            assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    assert_same_histories(one.history_, two.history_)


def assert_same_run(one, two):
    """Compare the bits of two results of the loop."""
    assert_array_equal(one.labels, two.labels)
    assert one.centroids == two.centroids
    assert (one.loss, one.inertia, one.n_iter) == (two.loss, two.inertia, two.n_iter)
    assert_same_histories(one.history, two.history)
