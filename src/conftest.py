"""Skip the doctests of the torch engine if torch or triton is not installed."""

from importlib.util import find_spec

has_torch = all(find_spec(name) for name in ("torch", "triton"))
collect_ignore_glob = [] if has_torch else ["rekmeans/engines/torch/*"]
