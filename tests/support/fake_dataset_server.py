"""A replacement for the public sources: files in their formats, and a server that can fail."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice

import numpy as np

from rekmeans_paper._origins import FETCHABLE

SITES = ("CYT", "ERL", "EXC", "ME1", "ME2", "ME3", "MIT", "NUC", "POX", "VAC")
DECIMALS = {"wine": 2, "seeds": 4, "yeast": 2, "isolet": 4, "pendigits": 0, "satimage": 0}
CODES = (1, 2, 3, 4, 5, 7)  # class codes of satimage; no row has 6


def shortest_decimal(value):
    """Format a number without padding, such as 14.23, 127 or 0.5."""
    return np.format_float_positional(np.float32(value), trim="-")


def wine(X, y):
    """Format lines such as 1,14.23,1.71,.28, with the class first and no 0 before the point."""
    return "".join(
        f"{c + 1},{','.join(shortest_decimal(v).removeprefix('0') or '0' for v in x)}\n"
        for x, c in zip(X, y, strict=True)
    )


def seeds(X, y):
    """Format fields separated by tabs, two after fields of fewer than four characters."""
    rows = ([*map(shortest_decimal, x), str(c + 1)] for x, c in zip(X, y, strict=True))
    return "\n".join(
        "".join(f + "\t" * (1 + (len(f) < 4)) for f in row[:-1]) + row[-1] for row in rows
    )


def yeast(X, y):
    """Format a name of ten characters, values with two decimals and a site, with two spaces."""
    names = (f"{'AB' if row % 3 else 'A'}{row % 97}_YEAST" for row in range(len(X)))
    rows = zip(names, X, y, strict=True)
    return "".join(
        f"{name:<10}  {'  '.join(f'{v:.2f}' for v in x)}  {SITES[c]}\n" for name, x, c in rows
    )


def isolet(X, y):
    """Format values with four decimals, separated by ", ", and a class such as `26.`."""
    return "".join(
        f"{', '.join(f'{v:.4f}' for v in x)}, {c + 1}.\n" for x, c in zip(X, y, strict=True)
    )


def pendigits(X, y):
    """Format numbers of three characters, separated by commas, and the class after a space."""
    return "".join(f"{','.join(f'{v:3.0f}' for v in x)}, {c}\n" for x, c in zip(X, y, strict=True))


def satimage(X, y):
    """Format values separated by single spaces, and a code for the class."""
    return "".join(
        f"{' '.join(f'{v:.0f}' for v in x)} {CODES[c]}\n" for x, c in zip(X, y, strict=True)
    )


def pack_lzw(data, widest=16, clears=()):
    """Compress data to a .Z file; the dictionary is cleared after each of the `clears` codes."""
    out = bytearray([0x1F, 0x9D, 0x80 | widest])
    group = []
    width = 9
    count = 0
    strings = {bytes([byte]): byte for byte in range(256)} | {None: 256}

    def put(code, end=False):
        nonlocal group
        group.append(code)
        if len(group) == 8 or end:
            bits = sum(code << width * place for place, code in enumerate(group))
            out.extend(bits.to_bytes(width, "little"))
            group = []

    string = b""
    for byte in (data[i : i + 1] for i in range(len(data))):
        if string + byte in strings:
            string += byte
            continue
        grows = len(strings) >= 1 << width and width < widest
        put(strings[string], end=grows)
        width = width + grows
        count = count + 1
        if count in clears:
            put(256, end=True)
            strings = dict(islice(strings.items(), 257))
            width = 9
        elif len(strings) < 1 << widest:
            strings[string + byte] = len(strings)
        string = byte
    if string:
        put(strings[string])
    bits = sum(code << width * place for place, code in enumerate(group))
    return bytes(out) + bits.to_bytes(-(-len(group) * width // 8), "little")


WRITERS = {
    "wine": wine,
    "seeds": seeds,
    "yeast": yeast,
    "isolet": isolet,
    "pendigits": pendigits,
    "satimage": satimage,
}


def random_table(name):
    """Return X, y with the rows, classes and decimals of a dataset, and at most 40 columns."""
    origin = FETCHABLE[name]
    rng = np.random.default_rng(0)
    shape = (origin.shape[0], min(origin.shape[1], 40))
    X = np.float32(np.round(rng.uniform(0, 100, shape), DECIMALS[name]))
    return X, rng.permutation(np.repeat(np.arange(origin.k), origin.classes)).astype(np.int32)


def file_contents(name, X, y):
    """Return the files of a dataset in the format of its source."""
    write = WRITERS[name]
    if name == "satimage":
        return [write(X[:4435], y[:4435]).encode(), write(X[4435:], y[4435:]).encode()]
    text = write(X, y).encode()
    return [pack_lzw(text) if name == "isolet" else text]


class DatasetServer:
    """A local web server; `files` maps a path to (status, content, Content-Length)."""

    def __init__(self):
        self.files = {}
        self.requested_paths = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def serve(self, name, content, status=200, missing=0):
        """Serve content under a name, with `missing` bytes too many announced; return the URL."""
        self.files[f"/{name}"] = status, content, len(content) + missing
        return f"{self.url}/{name}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def _handler(server):  # noqa: N805 - the nested handler uses self
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requested_paths.append(self.path)
                status, content, length = server.files.get(self.path, (404, b"gone", 4))
                self.send_response(status)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        return Handler
