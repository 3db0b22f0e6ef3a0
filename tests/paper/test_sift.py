"""Dense SIFT against its definition in plain loops, and its invariances.

The invariances are brightness, mirroring, transposition and translation.
"""

import math

import numpy as np
import pytest

from rekmeans_paper.sift import describe_squares

STEP = 8
SIZE = 16
RNG = np.random.default_rng(0)
# Noise, with edges where the values wrap.
PICTURE = np.clip(RNG.normal(0.5, 0.2, (48, 64)).cumsum(axis=1) % 1, 0, 1)


def pixel(picture, y, x):
    """Return a pixel, or the nearest one inside the picture."""
    h, w = picture.shape
    return picture[min(max(y, 0), h - 1), min(max(x, 0), w - 1)]


def gradient(picture, y, x):
    """Return (dy, dx), with the derivative of a Gaussian of sigma 1 truncated at 4 pixels."""
    reach = range(-4, 5)
    total = sum(math.exp(-i * i / 2) for i in reach)
    bell = {i: math.exp(-i * i / 2) / total for i in reach}
    cells = [(j, i, pixel(picture, y + j, x + i)) for j in reach for i in reach]
    dy = sum(j * bell[j] * bell[i] * value for j, i, value in cells)
    return dy, sum(i * bell[j] * bell[i] * value for j, i, value in cells)


def describe_by_definition(picture, top, left, size=SIZE):
    """Return the descriptor of one square by its definition, (128,) in steps of 1/512."""
    found = np.zeros((4, 4, 8))
    width = size / 4
    # The outer bins extend beyond the square, but not beyond the picture.
    reach = range(-size, 2 * size)
    for y in (
        y for y in reach if 0 <= top + y < len(picture) and -width / 2 < y + 0.5 < size + width / 2
    ):
        for x in (
            x
            for x in reach
            if 0 <= left + x < len(picture[0]) and -width / 2 < x + 0.5 < size + width / 2
        ):
            dy, dx = gradient(picture, top + y, left + x)
            turn = math.atan2(dy, dx) % (2 * math.pi) * 4 / math.pi
            for v in range(4):
                for u in range(4):
                    near = [
                        1 - abs(at + 0.5 - (b + 0.5) * width) / width for at, b in ((y, v), (x, u))
                    ]
                    for o in range(8):
                        apart = min(abs(turn - o), 8 - abs(turn - o))
                        share = max(0, near[0]) * max(0, near[1]) * max(0, 1 - apart)
                        found[v, u, o] += math.hypot(dy, dx) * share
    found /= max(0.1, math.sqrt((found**2).sum()))
    length = math.sqrt((found**2).sum())
    found = np.minimum(found, 0.2)
    if length > 0:
        found *= length / math.sqrt((found**2).sum())
    return np.minimum(np.rint(512 * found), 255).ravel()


@pytest.mark.parametrize(
    ("shape", "at"), [((48, 64), 3), ((48, 64), 29), ((21, 35), 1), ((16, 16), 0)]
)
def test_a_descriptor_follows_the_definition(shape, at):
    picture = PICTURE[: shape[0], : shape[1]]
    tops, lefts = (range((n - SIZE) % STEP // 2, n - SIZE + 1, STEP) for n in shape)
    found = describe_squares(picture, STEP, SIZE)
    assert found.descriptors.shape == (len(tops) * len(lefts), 128)
    top = tops[at // len(lefts)]
    left = lefts[at % len(lefts)]
    assert np.abs(found.descriptors[at] - describe_by_definition(picture, top, left)).max() == 0
    assert found.down[at] * shape[0] == pytest.approx(top + SIZE / 2)
    assert found.right[at] * shape[1] == pytest.approx(left + SIZE / 2)


def test_bins_of_fractional_width_follow_the_definition():
    found = describe_squares(PICTURE, 5, 10).descriptors  # bins of 2.5 pixels
    np.testing.assert_array_equal(
        found[0], describe_by_definition(PICTURE, (48 - 10) % 5 // 2, (64 - 10) % 5 // 2, 10)
    )


def test_faint_squares_stay_short():
    faint = describe_squares(0.01 * PICTURE, STEP, SIZE).descriptors
    np.testing.assert_array_equal(faint[3], describe_by_definition(0.01 * PICTURE, 0, 3 * STEP))
    assert 20 < np.linalg.norm(faint[3].astype(float)) < 200
    assert not describe_squares(np.full((32, 32), 0.7), STEP, SIZE).descriptors.any()


def assert_equal_up_to_rounding(found, wanted):
    """Allow differences of one step in fewer than 0.1 % of the values."""
    difference = np.abs(found.astype(int) - wanted)
    assert difference.max() <= 1
    assert (difference > 0).mean() < 1e-3


def test_descriptors_do_not_depend_on_brightness_and_contrast():
    assert_equal_up_to_rounding(
        describe_squares(0.5 * PICTURE + 0.3, STEP, SIZE).descriptors,
        describe_squares(PICTURE, STEP, SIZE).descriptors,
    )


def grid(picture):
    """Return the descriptors as an array of shape (rows, columns, 4, 4, 8)."""
    tops, lefts = ((n - SIZE) // STEP + 1 for n in picture.shape)
    return describe_squares(picture, STEP, SIZE).descriptors.reshape(tops, lefts, 4, 4, 8)


TURNS = np.arange(8)


def test_mirroring_a_picture_mirrors_squares_bins_and_directions():
    mirrored = grid(PICTURE[:, ::-1])[:, ::-1, :, ::-1]  # an angle t becomes half a turn - t
    assert_equal_up_to_rounding(mirrored[..., (4 - TURNS) % 8], grid(PICTURE))


def test_transposing_a_picture_transposes_squares_bins_and_directions():
    turned = grid(np.ascontiguousarray(PICTURE.T)).transpose(1, 0, 3, 2, 4)
    assert_equal_up_to_rounding(turned[..., (2 - TURNS) % 8], grid(PICTURE))


def test_shifting_a_picture_by_a_step_shifts_its_squares():
    # One square down and two to the right; rows and columns at the seams are excluded.
    moved = np.roll(PICTURE, (STEP, 2 * STEP), axis=(0, 1))
    np.testing.assert_array_equal(grid(moved)[2:-1, 3:-1], grid(PICTURE)[1:-2, 1:-3])
