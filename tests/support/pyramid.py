"""Oracle of the counts of a spatial pyramid in plain loops."""

import numpy as np

from rekmeans_paper.images import grey_image, shrink_image
from rekmeans_paper.sift import describe_squares


def nearest_word(words, v, alpha):
    """Return the first argmin_c sum_l (1 - cos(alpha pi (v_l - u_cl)))."""
    return int(np.argmin((1 - np.cos(alpha * np.pi * (v.astype(float) - words))).sum(axis=1)))


def count_words(model, image):
    """Return the pyramid of one image by a loop over all squares and levels."""
    picture = shrink_image(grey_image(image, "it"), model.max_side)
    h, w = picture.shape
    described = describe_squares(picture, model.step, model.size).descriptors
    corners = [
        (top, left)
        for top in range((h - model.size) % model.step // 2, h - model.size + 1, model.step)
        for left in range((w - model.size) % model.step // 2, w - model.size + 1, model.step)
    ]
    levels = [np.zeros((2**level, 2**level, len(model.words_))) for level in range(model.levels)]
    for (top, left), v in zip(corners, described, strict=True):
        word = nearest_word(model.words_, v, model.codebook_.alpha)
        for level in levels:
            r, c = (
                (2 * at + model.size) * len(level) // (2 * n) for at, n in ((top, h), (left, w))
            )
            level[r, c, word] += 1
    return np.concatenate([level.ravel() for level in levels])
