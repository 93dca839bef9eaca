"""Parts of kernels, which have no way in from Python of their own, called as kernels call them."""

import numba


def from_python(part):
    return numba.njit(lambda *arguments: part(*arguments))
