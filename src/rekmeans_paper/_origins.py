"""Sources, checksums, licences and sizes of the datasets, and differences from the paper's table.

Each sha256 was published by others who downloaded the original file from the address given here.
The exception is isolet5.data.Z: its checksum comes from a copy, which unpacks to the expected
values in the layout of the original.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._formats import BLANKS, COMMAS, Layout
from .values import Array


@dataclass(frozen=True)
class File:
    """A file at its public source, and its checksum."""

    url: str
    sha256: str

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Origin:
    """The source of a dataset.

    `shape` is (n, d), and `classes` is the number of rows of each class, or the number of classes.
    """

    page: str
    licence: str
    note: str
    shape: tuple[int, int]
    classes: tuple[int, ...] | int
    files: tuple[File, ...] = ()
    layout: Layout = BLANKS

    @property
    def k(self) -> int:
        return self.classes if isinstance(self.classes, int) else len(self.classes)

    def mismatch(self, X: Array, y: Array) -> str:
        """Describe how a table differs from this dataset; "" if it may be the same."""
        sizes = tuple(np.bincount(y).tolist())
        if X.shape != self.shape:
            return (
                f"{X.shape[0]} x {X.shape[1]} values instead of {self.shape[0]} x {self.shape[1]}"
            )
        if len(sizes) != self.k:
            return f"{len(sizes)} classes instead of {self.k}"
        if not isinstance(self.classes, int) and sizes != self.classes:
            return f"classes of {sizes} rows instead of {self.classes}"
        return ""


UCI = "https://archive.ics.uci.edu"
FILES = f"{UCI}/ml/machine-learning-databases"
SATELLITE = f"{FILES}/statlog/satimage"
CC_BY = "CC BY 4.0"
UNSTATED = "none stated"
RESEARCH = "ImageNet terms: research only"
WORDS = 10752  # 512 words in 1 + 4 + 16 cells
SCENES = "https://figshare.com/articles/dataset/15-Scene_Image_Dataset/7007177"
CALTECH = "https://data.caltech.edu/records"

FETCHABLE = {
    "wine": Origin(
        f"{UCI}/dataset/109/wine",
        CC_BY,
        "As in the paper's table. The paper's text says 210 wines, but there are 178.",
        (178, 13),
        (59, 71, 48),
        (
            File(
                f"{FILES}/wine/wine.data",
                "6be6b1203f3d51df0b553a70e57b8a723cd405683958204f96d23d7cd6aea659",
            ),
        ),
        Layout(",", label=0),
    ),
    "seeds": Origin(
        f"{UCI}/dataset/236/seeds",
        CC_BY,
        "As in the paper's table.",
        (210, 7),
        (70, 70, 70),
        (
            File(
                f"{FILES}/00236/seeds_dataset.txt",
                "1f3f83c0d8485ae9148061389d19628607e3f5660e3d6f40ec9102fb398bb12f",
            ),
        ),
    ),
    "yeast": Origin(
        f"{UCI}/dataset/110/yeast",
        CC_BY,
        "The paper's table says 17 dimensions, but there are 8. The file separates fields by two "
        "spaces; split at every single space, a row has 17 fields between name and class, and 9 of "
        "them are empty.",
        (1484, 8),
        (463, 5, 35, 44, 51, 163, 244, 429, 20, 30),
        (
            File(
                f"{FILES}/yeast/yeast.data",
                "7cf61776fc04f527f93bf57a327b863893a1225d82df02d457e8950173218258",
            ),
        ),
        Layout(names=1),
    ),
    "isolet": Origin(
        f"{UCI}/dataset/54/isolet",
        CC_BY,
        "As in the paper's table. It is part 5 of isolet, with 30 of the 150 speakers that the "
        "paper's text mentions.",
        (1559, 617),
        (60,) * 12 + (59,) + (60,) * 13,
        (
            File(
                f"{FILES}/isolet/isolet5.data.Z",
                "855ceb28edd717a321a9d91ad653e03670d5fb4bb98a551452f0f01c4b0d41c2",
            ),
        ),
        COMMAS,
    ),
    "pendigits": Origin(
        f"{UCI}/dataset/81/pen+based+recognition+of+handwritten+digits",
        CC_BY,
        "As in the paper's table. It is the test part of pendigits, 3498 of 10992 rows.",
        (3498, 16),
        (363, 364, 364, 336, 364, 335, 336, 364, 336, 336),
        (
            File(
                f"{FILES}/pendigits/pendigits.tes",
                "8bd03229c5c5291fefe43e45465dd948d2645bf23328b9d993e0b777666b2015",
            ),
        ),
        COMMAS,
    ),
    "satimage": Origin(
        f"{UCI}/dataset/146/statlog+landsat+satellite",
        CC_BY,
        "The paper's table says 7 classes, but there are 6: no row has code 6. The training rows "
        "come first.",
        (6435, 36),
        (1533, 703, 1358, 626, 707, 1508),
        (
            File(
                f"{SATELLITE}/sat.trn",
                "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613",
            ),
            File(
                f"{SATELLITE}/sat.tst",
                "4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479",
            ),
        ),
    ),
}

WITHOUT_FEATURES = {  # the paper's features of these photos were never published
    "Event": Origin(
        "http://vision.stanford.edu/lijiali/event_dataset",
        UNSTATED,
        "The paper's table says 26 classes; its text and the dataset have 8.",
        (1579, WORDS),
        8,
    ),
    "Scene13": Origin(
        SCENES, UNSTATED, "The 15 scenes without industrial and store.", (3859, WORDS), 13
    ),
    "Caltech101": Origin(
        f"{CALTECH}/mzrjq-6wc02", CC_BY, "Without BACKGROUND_Google.", (8677, WORDS), 101
    ),
    "SImagenet": Origin(
        "https://image-net.org",
        RESEARCH,
        "The authors' selection of 19911 images of 12 synsets; they do not list them.",
        (19911, WORDS),
        12,
    ),
    "Caltech256": Origin(
        f"{CALTECH}/nyy15-4j048", CC_BY, "Without 257.clutter.", (29780, WORDS), 256
    ),
}

STAND_INS = {  # spatial-pyramid counts that we computed
    "sports8_spm": Origin(
        "https://github.com/garrettdevereux/ComputerVisionFinal",
        "CC0 as declared by the compiler of the photos",
        "Stands in for Event: other photos, 224 x 224, of 8 sports. Six are those of Event, tennis "
        "replaces badminton, and horseshoe pitching replaces bocce.",
        (1151, WORDS),
        8,
    ),
    "scene13_spm": Origin(
        SCENES,
        UNSTATED,
        "Stands in for Scene13: the same photos with our features. 37 rows form 18 groups of "
        "duplicates, one of them in two classes.",
        (3859, WORDS),
        13,
    ),
    "caltech101_spm": Origin(
        f"{CALTECH}/mzrjq-6wc02",
        CC_BY,
        "Stands in for Caltech101: the same photos with our features.",
        (8677, WORDS),
        101,
    ),
    "tinyimagenet12_spm": Origin(
        "https://github.com/seshuad/IMagenet",
        RESEARCH,
        "Stands in for SImagenet: 12 synsets of Tiny ImageNet, 64 x 64. The paper uses two of them "
        "(monarch, cliff dwelling). The task is harder.",
        (6600, WORDS),
        12,
    ),
}
