"""What to do about a diagnosis: suggestions, each with the theorem behind it, and warnings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..conditions import Budget, Finding
from ..conditions.start import SMALL_OUTPUT
from ..problem import Problem
from .diagnosis import Outlook, Suggestion
from .preparation import preparation_for, remarks_on

NOTICEABLE = 0.01  # shares of the labels below it are not worth a word


def suggestions_for(problem: Problem, findings: Mapping[str, Finding], budget: Budget, outlook: Outlook) -> list[Suggestion]:
    """What the theory supports doing, most important first."""
    two_layer = problem.network.layers == 2 and not problem.network.bias
    beyond_linear = not findings["linear_target"].holds
    symmetric = bool(findings["even_inputs"].holds and findings["odd_target"].holds)
    found = preparation_for(problem)
    if two_layer and symmetric and beyond_linear:
        found += [
            Suggestion(
                "add a layer: three layers express odd functions that are not linear, two never do",
                "Zhang, Saxe & Latham, arXiv:2406.12615, Corollary 2 and Eq. 3",
            ),
            Suggestion(
                "add a bias (or a constant input 1), so that inputs are no longer even and labels no longer odd",
                "Zhang, Saxe & Latham, arXiv:2406.12615, Theorem 1 and Discussion",
            ),
            Suggestion(
                "break the symmetry: without mirror images of every sample a two-layer network can fit more than its linear part",
                "Zhang, Saxe & Latham, arXiv:2406.12615, Theorem 5 and Fig. 2",
            ),
        ]
    else:
        found += _what_would_fit(problem, budget)
    if outlook.plateau is not None and not symmetric:
        found.append(
            Suggestion(
                "break the symmetry further: the plateau lasts inversely to the asymmetry, so twice the asymmetry halves the wait",
                "perturbed_symmetry; Zhang, Saxe & Latham, arXiv:2406.12615, Fig. 2 (v3: also Fig. 6b)",
            )
        )
    if findings["small_start"].holds is False:
        found.append(_smaller_start(problem, findings["small_start"]))
    if two_layer and symmetric and not beyond_linear:
        found.append(
            Suggestion(
                "a linear model learns the same function: the network is one in slower time",
                "Zhang, Saxe & Latham, arXiv:2406.12615, Theorem 5 and Corollary 6",
            )
        )
    return found


def _what_would_fit(problem: Problem, budget: Budget) -> list[Suggestion]:
    """Remedies for what the network cannot fit, each for its own cause."""
    network, missed = problem.network, budget.unfitted
    if network.bias:
        return []
    found = []
    if missed.odd_nonlinear > NOTICEABLE and network.layers == 2:
        text = f"add a layer or a bias: {100 * missed.odd_nonlinear:.3g} % of <y^2> is odd and not linear, which two layers never fit"
        found.append(Suggestion(text, "Zhang, Saxe & Latham, arXiv:2406.12615, Theorem 1"))
    if missed.not_homogeneous > NOTICEABLE:
        text = (
            f"add a bias (or a constant input 1): {100 * missed.not_homogeneous:.3g} % of <y^2> is not proportional to |x| along rays "
            "from the origin, which no bias-free network fits, however deep"
        )
        found.append(Suggestion(text, "f(s x) = s f(x) for s > 0 without biases"))
    numbers = network.widths[0] * network.inputs  # of 2 h d, h only rescale neurons
    if network.layers == 2 and budget.fractions[1] > NOTICEABLE and numbers < len(problem.data.lines):
        text = (
            f"take more neurons: {network.widths[0]} of them have {numbers} numbers to choose, for {len(problem.data.lines)} lines "
            "through the origin with labels of their own"
        )
        found.append(Suggestion(text, "counting what is free"))
    return found


def _smaller_start(problem: Problem, finding: Finding) -> Suggestion:
    layers = problem.network.layers
    if not np.isfinite(finding.measured):
        text = "give the labels a size: without any there is nothing to be small against"
    else:
        factor = (finding.measured / SMALL_OUTPUT) ** (1 / layers)
        text = f"start smaller, at most 1/{factor:.2g} of these weights: then the early phase aligns the neurons first"
    return Suggestion(text, "Zhang, Saxe & Latham, arXiv:2406.12615, Theorem 13")


def warnings_for(problem: Problem, findings: Mapping[str, Finding], budget: Budget) -> list[str]:
    """What may go wrong that a user would not see: floors, one class, conflicting labels, biases, depth."""
    found = remarks_on(problem)
    if not problem.y.any():
        found.append("all labels are zero: weights only shrink or stay, and there is nothing to learn.")
    elif problem.loss.is_classification and len(np.unique(problem.y)) == 1:
        found.append("all samples are of one class: any network that is positive on them is right.")
    missed = budget.unfitted
    if missed.conflict is not None:
        first, second = (problem.data.sample(k) for k in missed.conflict)
        found.append(
            f"one input comes with several labels (see {first} and {second}), so that nothing fits "
            f"{100 * missed.conflicting:.3g} % of <y^2>."
        )
    if budget.fractions[2] > NOTICEABLE and problem.network.layers == 2 and not problem.network.bias:
        found.append(
            f"{100 * budget.fractions[2]:.3g} % of <y^2> can never be learned by two layers without bias, whatever their width: "
            f"the square loss stays above {budget.loss_floor:.4g}."
        )
    if problem.network.bias:
        found.append("the network has biases: budget and theorems here speak of bias-free networks.")
    if problem.network.layers > 2:
        found.append(f"the network has {problem.network.layers} layers: the budget is that of two.")
    return found


def augmentation_note(problem: Problem, findings: Mapping[str, Finding], budget: Budget) -> str | None:
    """Mirror images (-x, -y) make Condition 3 hold, so that two layers keep to a linear function (Zhang et al. on Lyu et al.)."""
    already = findings["even_inputs"].holds and findings["odd_target"].holds
    if already or problem.network.layers != 2 or problem.network.bias:
        return None
    linear_part = problem.data.x @ budget.linear_map
    if findings["separable"].holds is False:
        wrong = float(np.mean(problem.y * linear_part <= 0))
        return (
            "Mirror images (-x, -y) should not be added: two layers would then learn a linear function only, and no linear function "
            f"separates these classes (least squares gets {100 * wrong:.3g} % wrong; Zhang et al. on Lyu et al.)."
        )
    lost = 1.0 - budget.fractions[0] - budget.fractions[2]
    if findings["separable"].holds is None and lost > NOTICEABLE:
        return (
            "Mirror images (-x, -y) should not be added: two layers would then learn a linear function only, and lose the "
            f"{100 * lost:.3g} % of <y^2> that they could fit beyond it (Zhang et al. on Lyu et al.)."
        )
    return None
