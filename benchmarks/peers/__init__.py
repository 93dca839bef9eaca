"""The solvers that others wrote, each behind the same call: problem, times, rtol and a cap in seconds."""
