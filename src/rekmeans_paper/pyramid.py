"""Spatial pyramid: counts of visual words in an image, its quarters, its sixteenths, and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rekmeans.estimators import RectifiedEulerKMeans
from rekmeans.threads import count_threads

from .images import grey_image, image_list, image_name, shrink_image
from .sift import SIDE_BINS, UNIT, Squares, describe_squares
from .values import Array, require_choice, require_integer

# Half-turns per unit length of a descriptor. Larger values wrap around.
ALPHA = 1.0
# A smaller relative fall of the objective does not change the words noticeably.
TOLERANCE = 1e-4
# Squares sampled from an image, so that the codebook needs at most max_descriptors / 50 images.
MIN_SQUARES_PER_IMAGE = 50
N_NEIGHBOURS = 5  # words that share a square in soft coding; more words only blur the counts
BATCH_SIZE = 16  # images held in memory at the same time


def _hard_shares(codebook: RectifiedEulerKMeans, V: Array) -> tuple[Array, Array]:
    """Return the nearest word of each square, (p, 1), with a share of 1."""
    return codebook.predict(V)[:, None], np.ones((len(V), 1))


def _soft_shares(codebook: RectifiedEulerKMeans, V: Array) -> tuple[Array, Array]:
    """Return the nearest words (p, 5) of each square and their shares.

    The shares are proportional to exp(-D/s), where D is the squared distance and s its mean over
    the fit.
    """
    D = codebook.transform(V) ** 2
    m = min(N_NEIGHBOURS, D.shape[1])
    words = np.argpartition(D, m - 1, axis=1)[:, :m]
    near = np.take_along_axis(D, words, axis=1)
    spread = max(codebook.inertia_ / len(codebook.labels_), np.finfo(float).tiny)
    shares = np.exp((near.min(axis=1, keepdims=True) - near) / spread)
    return words, shares / shares.sum(axis=1, keepdims=True)


def _per_square(H: Array, n_words: int) -> Array:
    return H / H[:, :n_words].sum(axis=1, keepdims=True)


CODINGS: dict[str, Callable[[RectifiedEulerKMeans, Array], tuple[Array, Array]]] = {
    "hard": _hard_shares,
    "soft": _soft_shares,
}
NORMS: dict[str | None, Callable[[Array, int], Array]] = {
    None: lambda H, n_words: H,
    "l1": _per_square,
    "l2": lambda H, n_words: H / np.sqrt((H * H).sum(axis=1, keepdims=True)),
    "sqrt": lambda H, n_words: np.sqrt(_per_square(H, n_words)),
}


class SpatialPyramid(TransformerMixin, BaseEstimator):
    """Images as counts of visual words in the cells of a spatial pyramid: 21 x 512 = 10752 columns.

    SIFT describes the squares of a grid. :class:`rekmeans.RectifiedEulerKMeans` learns `n_words`
    words from a sample of them. Each square then counts for its nearest word in the image, in its
    quarter and in its sixteenth.

    Rectified Euler k-means learns the words because its centroids have pre-images that are
    descriptors, its loss is bounded, and its labels do not depend on the number of threads. With
    half a turn per unit length it is close to k-means.

    Parameters
    ----------
    n_words : int, default=512
        Number of words in the codebook.
    step : int, default=8
        Distance between neighbouring squares, in pixels.
    size : int, default=16
        Side length of a square, in pixels.
    levels : int, default=3
        Number of pyramid levels. Level l has 2^l x 2^l cells, so 3 levels have 21.
    max_side : int or None, default=300
        Images with a longer side are reduced to this many pixels. None disables the reduction.
    coding : {"hard", "soft"}, default="hard"
        With "hard", a square counts for its nearest word. With "soft", the nearest five words share
        it, and nearer words get larger shares.
    normalize : {"l1", "l2", "sqrt"} or None, default=None
        None keeps the counts, "l1" divides them by the number of squares in the image, "l2" scales
        rows to unit length, and "sqrt" takes the square roots of "l1". Use one of the latter three
        to compare images of different sizes.
    sparse_output : bool, default=False
        Whether `transform` returns a CSR array. With 512 words, about an eighth of the counts are
        nonzero.
    max_descriptors : int, default=100000
        Number of squares sampled for the codebook, evenly from at most max_descriptors / 50 images.
    n_threads : int or None, default=None
        Number of threads. None uses all that the CPU affinity, the container's quota and
        OMP_NUM_THREADS (set in workers of joblib and Dask) allow. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the sampled squares and of the codebook.
    verbose : int, default=0
        1 prints the progress over the images, 2 also the iterations of the codebook.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, 128)
        The words, as descriptors of length up to 512.
    codebook_ : RectifiedEulerKMeans
        The fitted codebook.

    Examples
    --------
    >>> import numpy as np
    >>> from rekmeans_paper import SpatialPyramid
    >>> images = np.random.default_rng(0).integers(0, 256, (4, 48, 64), dtype=np.uint8)
    >>> counts = SpatialPyramid(n_words=8, random_state=0).fit_transform(images)
    >>> counts.shape, counts[:, :8].sum(axis=1)
    ((4, 168), array([35., 35., 35., 35.], dtype=float32))
    """

    def __init__(
        self,
        n_words: int = 512,
        *,
        step: int = 8,
        size: int = 16,
        levels: int = 3,
        max_side: int | None = 300,
        coding: Literal["hard", "soft"] = "hard",
        normalize: Literal["l1", "l2", "sqrt"] | None = None,
        sparse_output: bool = False,
        max_descriptors: int = 100_000,
        n_threads: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_words = n_words
        self.step = step
        self.size = size
        self.levels = levels
        self.max_side = max_side
        self.coding = coding
        self.normalize = normalize
        self.sparse_output = sparse_output
        self.max_descriptors = max_descriptors
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Iterable[Any], y: Any = None) -> Self:
        """Learn the codebook.

        Parameters
        ----------
        X : list of images
            Paths, or uint8 arrays (h, w), (h, w, 1) or RGB (h, w, 3). Sizes may differ.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        random = check_random_state(self.random_state)
        V = self._sample_descriptors(image_list(X), random)
        if (different := len(np.unique(V, axis=0))) < self.n_words:
            raise ValueError(
                f"n_words={self.n_words} needs at least {self.n_words} different squares, got "
                f"{different} in {len(V)}. Use a smaller n_words or step, or add images."
            )
        codebook = RectifiedEulerKMeans(
            self.n_words,
            alpha=ALPHA / UNIT,
            scale=None,
            tol=TOLERANCE,
            n_threads=self.n_threads,
            random_state=random.randint(2**31),
            verbose=int(self.verbose > 1),
        ).fit(V)
        self.codebook_ = codebook
        self.words_ = codebook.cluster_centers_
        return self

    def transform(self, X: Iterable[Any]) -> Any:
        """Count the words in the cells of each image.

        Each cell has `n_words` columns. Level 0 comes first, and the cells of a level are in row
        order.

        Parameters
        ----------
        X : list of images
            Paths or arrays, as in `fit`.

        Returns
        -------
        float32 array of shape (n_images, n_cells * n_words)
            The counts, as a CSR array if `sparse_output` is True.
        """
        check_is_fitted(self)
        self._check_parameters()
        images = image_list(X)
        blocks = self._pyramid_blocks(images)
        if self.sparse_output:
            return sparse.vstack([sparse.csr_array(H) for H in blocks], format="csr")
        counts = np.empty((len(images), len(self.words_) * (4**self.levels - 1) // 3), np.float32)
        for at, H in zip(range(0, len(images), BATCH_SIZE), blocks, strict=True):
            counts[at : at + BATCH_SIZE] = H
        return counts

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns, such as level1_row0_column1_word17.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        array of shape (n_cells * n_words,)
            The names, with level, row, column and word.
        """
        check_is_fitted(self)
        sides = [(level, 2**level) for level in range(self.levels)]
        cells = [
            f"level{level}_row{r}_column{c}"
            for level, s in sides
            for r in range(s)
            for c in range(s)
        ]
        return np.array(
            [f"{cell}_word{word}" for cell in cells for word in range(len(self.words_))],
            dtype=object,
        )

    def _pyramid_blocks(self, images: list[Any]) -> Iterator[Array]:
        """Yield rows of the result, a batch of images at a time."""
        for block in self._square_blocks(list(enumerate(images)), "counted words in"):
            yield NORMS[self.normalize](self._counts(block), len(self.words_)).astype(np.float32)

    def _square_blocks(
        self, numbered: list[tuple[int, Any]], action: str
    ) -> Iterator[list[Squares]]:
        """Yield the squares of the images in order, a batch at a time, using several threads."""
        with ThreadPoolExecutor(count_threads(self.n_threads)) as pool:
            for at in range(0, len(numbered), BATCH_SIZE):
                yield list(pool.map(self._describe_image, numbered[at : at + BATCH_SIZE]))
                if self.verbose:
                    print(
                        f"{action} {min(at + BATCH_SIZE, len(numbered))} of {len(numbered)} images",
                        flush=True,
                    )

    def _describe_image(self, numbered: tuple[int, Any]) -> Squares:
        number, image = numbered
        name = image_name(image, number)
        picture = shrink_image(grey_image(image, name), self.max_side)
        if min(picture.shape) < self.size:
            h, w = picture.shape
            raise ValueError(
                f"an image needs at least size={self.size} pixels on each side, {name} has "
                f"{h} x {w} after the reduction to max_side. Use a smaller size or a larger image."
            )
        return describe_squares(picture, self.step, self.size)

    def _sample_descriptors(self, images: list[Any], random: np.random.RandomState) -> Array:
        """Sample the same number of descriptors from each image, with one generator per image."""
        used = min(len(images), max(1, self.max_descriptors // MIN_SQUARES_PER_IMAGE))
        chosen = np.sort(random.permutation(len(images))[:used])
        seeds = np.random.SeedSequence(
            random.randint(0, 2**32, size=4, dtype=np.uint32).tolist()
        ).spawn(used)
        blocks = self._square_blocks([(int(i), images[i]) for i in chosen], "sampled squares from")
        sample = []
        for squares, seed in zip(chain.from_iterable(blocks), seeds, strict=True):
            order = np.random.default_rng(seed).permutation(len(squares.descriptors))
            sample.append(squares.descriptors[np.sort(order[: self.max_descriptors // used])])
        return np.concatenate(sample)

    def _counts(self, block: list[Squares]) -> Array:
        """Return the pyramids of a batch of images, (m, cells x n_words).

        The counts of a coarser cell are the sums of the finer cells in it.
        """
        k = len(self.words_)
        s = 2 ** (self.levels - 1)
        m = len(block)
        words, shares = CODINGS[self.coding](
            self.codebook_, np.concatenate([squares.descriptors for squares in block])
        )
        cells = [
            (s * squares.down).astype(np.int64) * s + (s * squares.right).astype(np.int64)
            for squares in block
        ]
        # (p,) the finest cell of each square, numbered over all images
        cell = np.concatenate([each + i * s * s for i, each in enumerate(cells)])
        H = np.bincount((cell[:, None] * k + words).ravel(), shares.ravel(), m * s * s * k)
        levels = [H.reshape(m, s, s, k)]
        for _ in range(self.levels - 1):
            fine = levels[0]
            half = fine.shape[1] // 2
            levels.insert(0, fine.reshape(m, half, 2, half, 2, k).sum(axis=(2, 4)))
        return np.concatenate([level.reshape(m, -1) for level in levels], axis=1)

    def _check_parameters(self) -> None:
        require_integer("n_words", self.n_words)
        require_integer("step", self.step)
        require_integer("size", self.size, least=SIDE_BINS, hint=" (one pixel per bin)")
        require_integer("levels", self.levels)
        if self.max_side is not None:
            require_integer(
                "max_side", self.max_side, least=self.size, hint=" (= size), or None for no limit"
            )
        require_choice("coding", self.coding, CODINGS)
        require_choice("normalize", self.normalize, NORMS)
        require_integer(
            "max_descriptors", self.max_descriptors, least=self.n_words, hint=" (= n_words)"
        )
        if self.n_threads is not None:
            require_integer("n_threads", self.n_threads, hint=", or None for all threads")
        require_integer(
            "verbose",
            int(self.verbose) if isinstance(self.verbose, bool) else self.verbose,
            least=0,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # a list of images
        tags.input_tags.string = True
        tags.no_validation = True
        return tags
