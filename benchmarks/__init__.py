"""Rectilinear measured against other solvers; `python -m benchmarks` runs everything, README.md says what is measured."""
