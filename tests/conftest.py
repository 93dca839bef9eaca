"""Random examples are the same in every run, so that a run that was green stays green, however long a compiler takes."""

from hypothesis import settings

settings.register_profile("same examples", derandomize=True, deadline=None)
settings.load_profile("same examples")
