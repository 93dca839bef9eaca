"""A claim that costs nothing, in a file that other processes can import."""

from rectilinear.reproduce import Claim, Evidence, Verdict
from rectilinear.reproduce.claim import at_most


def trivial_check(full):
    return Evidence(measurements=(at_most("nothing", 0.0, 1.0),))


CLAIM = Claim("trivial", "Nothing", "zhang", "nowhere", "Nothing is small.", Verdict.CONFIRMED, trivial_check)
