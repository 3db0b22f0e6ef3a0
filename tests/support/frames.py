"""A table with columns of several types, and its numeric values."""

import numpy as np
import pandas as pd

FRAME = pd.DataFrame(
    {
        "length": [1.5, 2.0, None, 1e-300],
        "count": [1, 2, 3, 2**53],
        "city": ["Ulm", "Bari", "Ulm", "Łódź, PL"],
        "day": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01", None]),
        "ok": pd.array([True, False, None, True], dtype="boolean"),
        "gone": [None] * 4,
        "width": [0.1, 0.2, 0.3, 0.1 + 0.2],
    }
)
NUMBERS = (
    FRAME[["length", "count", "ok", "width"]]
    .astype("Float64")
    .to_numpy(np.float64, na_value=np.nan)
)
