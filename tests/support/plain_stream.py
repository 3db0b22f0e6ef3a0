"""Oracle of decaying sums in plain loops over Python integers, which does not import rekmeans."""

from decimal import ROUND_HALF_EVEN, Decimal, getcontext

TICKS = 32
getcontext().prec = 60
TICK_WEIGHTS = [
    int((Decimal(2) ** (Decimal(11) + Decimal(tick) / TICKS)).to_integral_value(ROUND_HALF_EVEN))
    for tick in range(TICKS)
]
FRACTION = 2**32


class PlainStream:
    """`mass` (k,) and `totals` (k, p) of rows whose weight halves after every half-life."""

    def __init__(self, k, p, half_life):
        self.half_life = half_life
        self.time = 0
        self.mass = [0] * k
        self.totals = [[0] * p for _ in range(k)]

    def add_row(self, f, units, c):
        """Add a row with a weight of `units` to cluster c."""
        if self.half_life is None:
            self._add(f, units, c)
            return
        while units:
            tick = self.half_life // TICKS
            step = min(units, tick - self.time % tick)
            self._add(f, step * TICK_WEIGHTS[self.time // tick], c)
            self.time = self.time + step
            units = units - step
            if self.time == self.half_life:
                self.time = 0
                self._halve()

    def _add(self, f, weight, c):
        self.mass[c] += weight * FRACTION
        for column, value in enumerate(f):
            self.totals[c][column] += int(value) * weight * FRACTION

    def _halve(self):
        self.mass = [half(mass) for mass in self.mass]
        for c, row in enumerate(self.totals):
            self.totals[c] = [half(value) if self.mass[c] else 0 for value in row]


def half(value):
    """Return half of an integer, rounded towards zero."""
    return value // 2 if value >= 0 else -(-value // 2)
