"""Every table of the reproduction by name, in the order of its page."""

from __future__ import annotations

from .claims import TABLE as CLAIMS
from .errata import TABLE as ERRATA
from .evidence import EVIDENCE
from .tables import TABLES, Table

ALL: dict[str, Table] = {"claims": CLAIMS} | TABLES | EVIDENCE | {"errata": ERRATA}
