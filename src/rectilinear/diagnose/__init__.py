"""`diagnose`: a problem in, a Diagnosis out: findings, theorems that apply, what they predict, what to do."""

from __future__ import annotations

from dataclasses import replace

from ..conditions import budget
from ..flow.threads import blas_threads
from ..problem import Problem, require_problem
from ..progress import Report, Wanted, reporter, shows_progress
from ..theorems import known_theorems
from .advice import augmentation_note, suggestions_for, warnings_for
from .diagnosis import (
    ENDINGS,
    Diagnosis,
    Ending,
    Outlook,
    PlateauForecast,
    Reading,
    Suggestion,
    Symmetry,
    Verification,
)
from .hypotheses import FINDINGS, findings_of
from .outlook import outlook_of
from .symmetry import symmetry_of
from .verify import verify as verification_of

__all__ = [
    "ENDINGS",
    "FINDINGS",
    "Diagnosis",
    "Ending",
    "Outlook",
    "PlateauForecast",
    "Reading",
    "Suggestion",
    "Symmetry",
    "Verification",
    "diagnose",
]


@shows_progress
def diagnose(
    problem: Problem,
    verify: bool = False,
    max_seconds: float | None = None,
    seed: int = 0,
    progress: Wanted = None,
) -> Diagnosis:
    """Which hypotheses hold and by how much they fail, which theorems apply, what they predict, and what to do.

    `verify` also simulates the problem, for `max_seconds` at most, and puts prediction and truth side by side. `seed` draws
    the random signs behind the p-values. `progress=True` shows a bar; a function `progress(fraction, note)` is called
    between the steps.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(100,))
    >>> found = rl.diagnose(rl.Problem(rl.datasets.six_points(delta=0.15), net, net.init(scale=1e-3, seed=0)))
    >>> found["even_inputs"]
    no         even_inputs: 2 of 6 samples have no mirror image -x (33.3 %), the first is sample 4.
    >>> round(found.symmetry.distance, 3), [reading.theorem.name for reading in found.applicable]
    (0.034, ['perturbed_symmetry'])
    >>> round(found.outlook.plateau.height, 3)
    0.443
    """
    require_problem("diagnose", problem)
    report = reporter(progress) or (lambda fraction, note: None)
    with blas_threads(0.0):  # products are many and small: threads would wait for each other
        return _diagnosed(problem, verify, max_seconds, seed, report)


def _diagnosed(problem: Problem, verify: bool, max_seconds: float | None, seed: int, report: Report) -> Diagnosis:
    report(0.0, "hypotheses")
    readings = read_theorems(problem)
    findings = findings_of(problem, readings)
    symmetry = symmetry_of(problem, seed, lambda share, note: report(0.15 + 0.25 * share, note))
    findings["even_inputs"] = replace(findings["even_inputs"], p_value=symmetry.even_p)
    findings["odd_target"] = replace(findings["odd_target"], p_value=symmetry.odd_p)
    report(0.5, "outlook")
    outlook = outlook_of(problem, readings)
    report(0.55, "budget of the labels")
    parts = budget(problem.data)
    verified = None
    if verify:
        verified = verification_of(problem, outlook, max_seconds, lambda share, note: report(0.6 + 0.4 * share, note))
    return Diagnosis(
        problem=problem,
        findings=findings,
        symmetry=symmetry,
        budget=parts,
        theorems=readings,
        outlook=outlook,
        suggestions=tuple(suggestions_for(problem, findings, parts, outlook)),
        warnings=tuple(warnings_for(problem, findings, parts)),
        verified=verified,
        augmentation=augmentation_note(problem, findings, parts),
    )


def read_theorems(problem: Problem) -> tuple[Reading, ...]:
    """Every theorem held against the problem: those that apply first, then those that miss least; the stronger first."""
    readings = [Reading(theorem, tuple(theorem.hypotheses(problem))) for theorem in known_theorems().values()]
    return tuple(sorted(readings, key=lambda reading: (len(reading.missing), -reading.theorem.strength)))
