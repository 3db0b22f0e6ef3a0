"""The instruction sets of this machine, for tests of the compiled core on each of them."""

from rekmeans.engines.native import _core as core


def runs_here(isa):
    try:
        return core.instruction_set(isa) == isa
    except ValueError:
        return False


SETS = [isa for isa in ("baseline", "avx2", "avx512", "vnni") if runs_here(isa)]
