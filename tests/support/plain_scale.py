"""Oracle of the robust scale of one column in plain loops, as described in docs/method.md."""

import math
from itertools import pairwise

import numpy as np


def plain_robust(cells):
    """Return the kept intervals, their shifts and their units of a column without weights."""
    x = np.sort([cell for cell in cells if not math.isnan(cell)])
    if not len(x):
        return [(-1.0, 1.0)], [0.0], [1.0]
    q25, median, q75 = (quantile(x, share) for share in (0.25, 0.5, 0.75))
    if not q75 - q25 > 1e-150 or 2 * np.sum(x == median) >= len(x):
        return with_unit(x, *tied(x))
    centre, sigma = fenced(x)
    if not 4 * sigma > 1e-150:
        return [(centre - 1, centre + 1)], [centre], [1.0]
    ends, shifts, unit = bulk_and_groups(x, centre, sigma)
    if len(ends) > 1:
        return ends, shifts, [unit] * len(ends)
    tail = None if few_values_unit(x) else find_tail(x, centre, sigma)
    if tail is None:
        return ends, shifts, [max(unit, few_values_unit(x) * sigma)]
    sign, start, end = tail
    u = sign * (x - centre) / sigma
    t = np.sort([log_map(distance + start) for distance in u if distance <= end])
    record = bulk_and_groups(t, *fenced(t))
    return unmapped(record, log_map(start + end), centre, sigma, sign, start)


def bulk_and_groups(x, centre, sigma):
    u = (x - centre) / sigma
    step = category_step(x, sigma)
    groups = tail_groups(np.sort(u[u > 0]), len(x), step, 2.5, 1e6)
    groups += [
        (-high, -low) for low, high in tail_groups(np.sort(-u[u < 0]), len(x), step, 2.5, 1e6)
    ]
    return place(u, centre, sigma, groups)


def quantile(x, share):
    return x[min(max(math.ceil(len(x) * share) - 1, 0), len(x) - 1)]


def fenced(x):
    """Return the mean and standard deviation of the cells within 3 IQR/1.349 of the median."""
    median = quantile(x, 0.5)
    fence = 3 * (quantile(x, 0.75) - quantile(x, 0.25)) / 1.349
    if fence <= 0:
        return median, 0.0
    inside = x[np.abs(x - median) <= fence]
    return inside.mean(), inside.std()


def category_step(x, sigma):
    """Return the smallest difference between at most 8 values in sigmas, otherwise None."""
    values = sorted({quantile(x, (i + 0.5) / 64) for i in range(64)})
    return min(np.diff(values)) / sigma if 1 < len(values) <= 8 else None


def tail_groups(u, n, step, low, high):
    """Return the groups among the distances u in (low, high]."""
    u_in = u[(u > low) & (u <= high)]
    if len(u_in) < max(4, 0.01 * n):
        return []
    edges = tail_edges(u, u_in, step, low)
    mass = [float(np.sum(u_in <= edge)) for edge in edges]
    start = first_rise(edges, mass, n)
    if start is None:
        return []
    after = [(edge, m) for edge, m in zip(edges, mass, strict=True) if edge >= start]
    end = group_end(after)
    members = u_in[(u_in > start) & (u_in <= 2 * end - start)]
    centre, sigma = fenced(members)
    if sigma == 0:
        here = [(centre, centre)] if step is not None and centre < 12 else []
        below = tail_groups(u, n, step, low, np.nextafter(centre, -np.inf))
        return below + here + tail_groups(u, n, step, centre, high)
    a, b = widened(u_in, centre, sigma)
    if sigma > 20 or b - a > 120 or np.sum((u_in >= a) & (u_in <= b)) < max(4, 0.01 * n):
        return tail_groups(u, n, step, low, start) + tail_groups(u, n, step, end, high)
    return [*tail_groups(u, n, step, low, a), (a, b), *tail_groups(u, n, step, b, high)]


def tail_edges(u, u_in, step, low):
    last = u_in[-1]
    first = low if step is None else u[u > low][0] - step / 2
    width = 0.5 if step is None else max(0.5, step)
    edges = [min(first, low), last]
    i = 0
    while first + i * width < min(last, 20.0):
        edges.append(first + i * width)
        i += 1
    i = 1
    base = max(first, 20.0)
    while base * 1.025**i < last:
        edges.append(base * 1.025**i)
        i += 1
    return sorted({edge for edge in edges if edge <= last})


def majorant(points):
    """Return the corners of the least concave majorant."""
    corners = [0]
    while corners[-1] < len(points) - 1:
        x, y = points[corners[-1]]
        slopes = [((b - y) / (a - x), j) for j, (a, b) in enumerate(points) if j > corners[-1]]
        corners.append(max(slopes)[1])
    return corners


def first_rise(edges, mass, n):
    corners = majorant(list(zip(edges, mass, strict=True)))
    for i, j in pairwise(corners):
        gained = mass[j] - mass[i]
        lags = [
            (mass[i] + (edges[t] - edges[i]) * gained / (edges[j] - edges[i]) - mass[t], -t)
            for t in range(i + 1, j)
        ]
        if lags and gained > 0:
            lag, at = max(lags)
            if lag >= max(2 * math.sqrt(gained), 0.1 * gained, 0.0025 * n):
                return edges[-at]
    return None


def group_end(points):
    corners = majorant(points)
    (x0, y0) = points[0]
    for end, after in pairwise(corners[1:]):
        density = (points[end][1] - y0) / (points[end][0] - x0)
        if (points[after][1] - points[end][1]) / (points[after][0] - points[end][0]) < density / 4:
            return points[end][0]
    return points[-1][0]


def widened(u, centre, sigma):
    low = centre - 3 * sigma
    high = centre + 3 * sigma
    for _ in range(20):
        more = np.sum((u > high) & (u <= high + sigma))
        if not more or more < np.sum((u > high - sigma) & (u <= high)) / 2:
            break
        high += sigma
    for _ in range(20):
        more = np.sum((u < low) & (u >= low - sigma))
        if not more or more < np.sum((u < low + sigma) & (u >= low)) / 2:
            break
        low -= sigma
    return low, high


def place(u, centre, sigma, groups):
    """Order the bulk and the groups, shrink gaps to one sigma, and return the unit as well."""
    kept = [(-4.0, 4.0)]
    for low, high in sorted(groups):
        kept.append((low, high))
    kept.sort()
    merged = [kept[0]]
    for low, high in kept[1:]:
        if low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    folded = [0.0]
    for (_, b), (c, _) in pairwise(merged):
        folded.append(folded[-1] + max(0.0, c - b - 1))
    whole = merged[-1][1] - folded[-1] - merged[0][0]
    shifts = [fold + merged[0][0] + whole / 2 for fold in folded]
    image = np.concatenate(
        [u[(u >= a) & (u <= b)] - shift for (a, b), shift in zip(merged, shifts, strict=True)]
    )
    inner = max(4.0, trimmed_extent(u, image, merged[0][0], merged[-1][1]))
    share = 1.0 if len(merged) == 1 else 0.85
    unit = inner if not groups else max(whole / 2, share * inner)
    ends = [(centre + sigma * a, centre + sigma * b) for a, b in merged]
    return ends, [centre + sigma * shift for shift in shifts], sigma * unit


def trimmed_extent(u, image, low, high):
    below = min(np.sum((u < low) & (u >= low - 4)), np.sum((u < low - 4) & (u >= low - 12)))
    above = min(np.sum((u > high) & (u <= high + 4)), np.sum((u > high + 4) & (u <= high + 12)))
    m = len(image)
    first = math.floor(0.02 * m + below)
    last = math.ceil(m - 0.02 * m - above) - 1
    return image[min(max(last, 0), m - 1)] - image[min(first, m - 1)]


def tied(x):
    """Return tie, kept distance and unit of a column in which half of the cells are equal."""
    values, counts = np.unique(x, return_counts=True)
    tie = values[counts.argmax()]
    others = {v - tie: c for v, c in zip(values, counts, strict=True) if v != tie}
    if not others:
        return tie, 0.0, 0.0
    often = {d: c for d, c in others.items() if c >= max(2, 0.005 * len(x))}
    usual = dict(others)
    for d in sorted(often, key=abs, reverse=True):
        rest = {e: c for e, c in usual.items() if e != d}
        if not rest or sum(rest.values()) < 0.25 * often[d]:
            break
        if abs(d) <= 10 * weighted_quantile(rest, 0.75):
            break
        usual = rest
    discrete = sum(c for d, c in usual.items() if d in often) >= 0.25 * sum(usual.values())
    if discrete:
        usual = {d: c for d, c in usual.items() if d in often}
        largest = weighted_quantile(usual, 0.95)
    else:
        largest = min(
            2 * weighted_quantile(usual, 0.5) - weighted_quantile(usual, 0.25), max(map(abs, usual))
        )
    kept = 1.5 * largest
    sigma = x[np.abs(x - tie) <= kept].std()
    near = {d: c for d, c in usual.items() if abs(d) <= kept}
    below = sum(c for d, c in near.items() if d < 0) / sum(near.values())
    two_sided = 0.05 < below < 0.95
    unit = max(6 * sigma, kept if two_sided else 1.25 * largest)
    is_rare_count = sum(others.values()) < 0.2 * len(x) and sum(d in often for d in usual) > 1
    sign = 1 if below < 0.5 else -1
    end = None if two_sided or discrete else tail_end(sign * (x - tie) / kept, 1, 0.8)
    return tie, kept, 2 * unit if is_rare_count else unit, sign, end


def weighted_quantile(counts, share):
    total = sum(counts.values())
    running = 0
    for distance in sorted(map(abs, counts)):
        running += sum(c for d, c in counts.items() if abs(d) == distance) / max(
            1, sum(abs(d) == distance for d in counts)
        )
        if running >= share * total:
            return distance
    return max(map(abs, counts))


def with_unit(x, tie, kept, unit, sign=1, end=None):
    if not unit > 1e-150:
        return [(tie - 1, tie + 1)], [tie], [1.0]
    if end is None:
        return [(tie - kept, tie + kept)], [tie], [unit]
    # the first piece of t, from 0 to 1, is the kept range
    sigma = 2 * kept
    v = sign * (x - tie) / sigma
    t = np.array([log_map(value) for value in v if value <= end / 2])
    near = t[np.abs(t) <= 1]
    extent = log_map(end / 2)
    record = [(-1.0, extent)], [0.0], max(6 * near.std(), 1.25 / 1.5 * extent)
    return unmapped(record, extent, tie, sigma, sign, 0.0)


def log_map(v):
    """Return log2(1 + 2 v) at v = 0, 0.5, 1.5, 3.5, ... and linear values in between."""
    knot = 0
    while v >= start_of(knot + 1):
        knot += 1
    return knot + (v - start_of(knot)) / width_of(knot)


def start_of(knot):
    return (2**knot - 1) / 2


def width_of(knot):
    return 2.0 ** (knot - 1)


def unmapped(record, cut, centre, sigma, sign, start):
    """Return the record of x from that of t."""
    pieces = []
    for (low, high), shift in zip(*record[:2], strict=True):
        at = low
        stop = min(high, cut)
        while at < stop:
            knot = max(math.floor(at), 0)
            to = min(knot + 1, stop)
            x = [
                centre + sign * sigma * (start_of(knot) + width_of(knot) * (t - knot) - start)
                for t in (at, to, shift)
            ]
            pieces.append((*sorted(x[:2]), x[2], record[2] * width_of(knot) * sigma))
            at = to
    pieces.sort()
    ends = [piece[:2] for piece in pieces]
    return ends, [piece[2] for piece in pieces], [piece[3] for piece in pieces]


def find_tail(x, centre, sigma):
    """Return the direction of a tail, the distance of the short end, and that of its own end."""
    if len({quantile(x, (i + 0.5) / 64) for i in range(64)}) < 13:
        return None
    for sign in (1, -1):
        u = sign * (x - centre) / sigma
        start = -quantile(np.sort(u[np.abs(u) <= 4]), 0.02)
        end = tail_end(u, 4, 1.0) if start <= 1.6 else None
        if end is not None:
            return sign, start, end
    return None


def tail_end(u, first, fall):
    """Return the end of the shells whose mass falls, None if they have too few cells."""
    end = first
    before = np.sum((u > end / 2) & (u <= end))
    while True:
        mass = np.sum((u > end) & (u <= 2 * end))
        limit = fall * before + (math.sqrt(before) if end > first else 0)
        mirrored = np.sum((u < -end) & (u >= -2 * end))
        if mass == 0 or mass > limit or mirrored > mass / 2:
            break
        before = mass
        end *= 2
    return end if np.sum((u > first) & (u <= end)) >= max(4, 0.005 * len(u)) else None


def few_values_unit(x):
    places = [quantile(x, (i + 0.5) / 64) for i in range(64)]
    repeated = {value for value in places if places.count(value) > 1}
    if sum(value in repeated for value in places) < 48 or len(repeated) > 8:
        return 0
    return 4 + 2 * (9 - len(repeated)) / 7
