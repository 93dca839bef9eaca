"""A diagnosis as one HTML page: in short, what comes next, what holds, how symmetric, what can be learned, what to try."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING

from ..conditions import Finding
from ..conditions.finding import VERDICTS
from ..conditions.population import p_words
from ..datasets import PROMISES
from ..diagnose import Diagnosis, Reading, Symmetry, Verification
from ..diagnose.card import certainty, mirrored_sentence, next_sentence, symmetry_sentence
from ..errors import require_kind
from ..trajectory import Status
from ..wording import of_number
from .diagnosis_figures import loss_to_come, mirror_images, spectrum
from .html import DENSE, Html, badge, document, picture, table, tag
from .typeset import typeset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCREEN = 110  # pixels of the page per inch of a figure
MEANINGS = {
    **PROMISES,
    "small_start": "the starting outputs are negligible against the labels",
    "rank_one_start": "all neurons start along one direction, positive and negative ones alike (Assumption 4)",
    "balanced_start": "each neuron's incoming and outgoing weights have the same size",
    "two_layers": "two layers without bias, both trained",
    "first_layer_only": "two layers, of which the first one trains",
    "every_layer_trains": "all layers train, without bias",
    "relu": "neurons are silent on their negative side",
    "square_loss": "the loss is the square loss",
    "growing_loss": "the loss is the square or the logistic loss",
    "falling_loss": "the loss is the logistic or the exponential loss, which falls for ever on separable data",
    "lipschitz_loss": "small outputs change the pull of a sample little",
    "no_decay": "there is no weight decay",
    "both_classes": "there are samples of both classes",
    "xor_samples": "two antipodal pairs of opposite labels on orthogonal lines",
    "both_signs_grow": "neurons of both outgoing signs grow",
    "neurons_for_both": "each class has a neuron that joins it",
    "nearly_symmetric": "the data are near to even inputs with an odd target",
    "broken_symmetry": "the data are not exactly symmetric",
    "fixed_halves": "no sample lies between <x y> and the best linear fit",
    "held_survivors": "every neuron that stays small during the rise is held by kinks",
    "deep_aligned_start": "all layers start with the rank-one and rank-two structure of deep networks (Eq. 40)",
    "two_class_layer": "the second layer is +1/m on one half of the neurons, -1/m on the other",
}
PARTS = {
    "linear": "linear: learned by any of these networks",
    "even": "even: within reach of a wide two-layer network",
    "beyond": "beyond every two-layer network without bias",
}


def diagnosis_page(diagnosis: Diagnosis) -> str:
    """The page as one self-contained text: figures are inlined, formulas are plain HTML, nothing is loaded."""
    require_kind("diagnosis_page", diagnosis, Diagnosis, "diagnose returns")
    return document(
        f"Diagnosis of {diagnosis.problem.data.name}",
        *_in_short(diagnosis),
        *_next(diagnosis),
        *_findings(diagnosis.findings.values()),
        *_symmetry(diagnosis),
        *_budget(diagnosis),
        *_theorems(diagnosis.theorems),
        *_advice(diagnosis),
        tag("p", f"Made by rectilinear {version('rectilinear')}. Averages ⟨·⟩ are over the samples.", class_="soft"),
    )


def _in_short(diagnosis: Diagnosis) -> list[Html]:
    names = ", ".join(reading.theorem.name for reading in diagnosis.applicable)
    problem = diagnosis.problem
    size = f"{of_number(problem.data.samples, 'sample')}, {of_number(problem.data.inputs, 'input')}"
    return [
        tag("h1", f"Diagnosis of {problem.data.name}"),
        tag(
            "p",
            f"{size}. {problem.network}, {problem.loss} loss.",
            class_="soft",
        ),
        tag("p", _sentence(next_sentence(diagnosis.outlook)), class_="lead"),
        tag("p", _sentence(f"how sure: {certainty(diagnosis)}")),
        *(tag("p", _sentence(text)) for text in [mirrored_sentence(diagnosis)] if text is not None),
        tag("p", _sentence(symmetry_sentence(diagnosis.symmetry))),
        tag("p", f"Theorems that apply: {names}." if names else "None of the theorems known here applies."),
        *(tag("p", _sentence(text), class_="warning") for text in diagnosis.warnings),
    ]


def _next(diagnosis: Diagnosis) -> list[Html]:
    outlook, verified = diagnosis.outlook, diagnosis.verified
    parts = [tag("h2", "What happens next")]
    if outlook.prediction is None and outlook.ahead is None and outlook.mirrored is None and verified is None:
        parts.append(tag("p", "No theorem predicts the course of the loss; simulate it."))
    else:
        caption = "Loss against time: dashed is predicted" + (", solid is simulated." if verified is not None else ".")
        if outlook.ahead is not None:
            caption += " The band is what the short simulation may be off by."
        parts.append(_figure(loss_to_come(diagnosis), "loss", caption))
    if verified is not None:
        parts += _verified(verified)
    return parts


def _verified(verified: Verification) -> list[Html]:
    rows = [(name, _number(predicted), _number(seen), _off(predicted, seen)) for name, predicted, seen in verified.rows]
    header = ("Quantity", "Predicted", "Simulated", "Off by")
    notes = [verified.judgement] if verified.judgement is not None else []
    if verified.run.status is not Status.FINISHED:
        notes.append(f"the simulation {verified.run.ended}")
    return [
        *([table(header, rows, class_="measured")] if rows else []),
        *(tag("p", _sentence(f"{note}."), class_="soft") for note in notes),
    ]


def _findings(findings: Iterable[Finding]) -> list[Html]:
    header = ("Holds", "Hypothesis", "Found in this sample", "Measured", "Required")
    return [tag("h2", "Which hypotheses hold"), table(header, map(_finding, findings), class_="findings")]


def _finding(finding: Finding) -> tuple[str, ...]:
    population = "" if finding.p_value is None else f" For the population: {p_words(finding.p_value)}."
    hypothesis = tag("div", tag("code", finding.name), tag("div", typeset(MEANINGS.get(finding.name, "")), class_="soft"))
    found = _sentence(finding.sentence + population)
    return badge(VERDICTS[finding.holds]), hypothesis, found, _number(finding.measured), typeset(finding.requirement)


def _symmetry(diagnosis: Diagnosis) -> list[Html]:
    symmetry = diagnosis.symmetry
    caption = (
        "Inputs x (dots) and their mirror images −x (rings). Of even inputs every ring has its dot, and the steps agree."
    )
    return [
        tag("h2", "How symmetric the data are"),
        _figure(mirror_images(diagnosis), "mirror", caption),
        table(("Measure of asymmetry", "Value"), _asymmetries(symmetry), class_="measured"),
    ]


def _asymmetries(symmetry: Symmetry) -> list[tuple[str, str]]:
    bound = "" if symmetry.distance_is_exact else "at most "
    matching = _number(symmetry.matching_distance)
    if symmetry.matching_at_most > symmetry.matching_distance:
        matching = f"{matching} to {_number(symmetry.matching_at_most)}"
    return [
        ("samples without a mirror image −x", _percent(symmetry.unpaired)),
        (f"distance between x and −x, relative to the spread ({symmetry.matching_method})", matching),
        ("deviation of half-space averages of xxᵀ from full ones (Lemma 10)", _percent(symmetry.half_space_inputs)),
        (f"the same for xy, largest along {symmetry.half_space_direction}", _percent(symmetry.half_space_labels)),
        ("distance from even inputs with an odd target", bound + _percent(symmetry.distance)),
        ("could the population have even inputs", typeset(p_words(symmetry.even_p))),
        ("and an odd target", typeset(p_words(symmetry.odd_p))),
    ]


def _budget(diagnosis: Diagnosis) -> list[Html]:
    shares = dict(zip(PARTS, diagnosis.budget.fractions, strict=True))
    bar = tag(
        "div",
        *(tag("span", class_=f"part {name}", style=f"width:{100 * share:.4f}%") for name, share in shares.items()),
        class_="bar",
    )
    rows = [
        (tag("span", tag("span", class_=f"key {name}"), f" {PARTS[name]}"), _percent(share))
        for name, share in shares.items()
    ]
    caption = "Left: the spectrum of the inputs. Right: what a linear map of its first directions explains of the labels."
    return [
        tag("h2", "What can be learned"),
        bar,
        table(("Part of the labels", "Share of ⟨y²⟩"), rows, class_="measured"),
        tag(
            "p",
            f"The square loss of a two-layer network without bias cannot fall below {_number(round(diagnosis.budget.loss_floor, 15))}.",
        ),
        _figure(spectrum(diagnosis), "spectrum", caption),
    ]


def _theorems(readings: Iterable[Reading]) -> list[Html]:
    rows = [
        (
            badge("applies" if reading.applies else "does not"),
            tag("div", typeset(reading.theorem.title), tag("div", reading.theorem.source, class_="soft")),
            ", ".join(finding.name for finding in reading.missing),
        )
        for reading in readings
    ]
    return [tag("h2", "Which theorems apply"), table(("", "Theorem", "What is missing"), rows, class_="overview")]


def _advice(diagnosis: Diagnosis) -> list[Html]:
    if not diagnosis.suggestions:
        return []
    items = [
        tag("li", _sentence(f"{suggestion.text}."), tag("div", suggestion.theorem, class_="soft"))
        for suggestion in diagnosis.suggestions
    ]
    return [tag("h2", "What to try"), tag("ul", *items)]


def _figure(drawn: Figure, name: str, caption: str) -> Html:
    file = io.BytesIO()
    drawn.savefig(file, format="png", dpi=DENSE * drawn.dpi)
    return picture(file.getvalue(), name, caption, width=round(drawn.get_figwidth() * SCREEN))


def _sentence(text: str) -> Html:
    return typeset(text[:1].upper() + text[1:])


def _number(value: float) -> str:
    """Four digits; what is not a number has no entry."""
    return "" if math.isnan(value) else f"{value + 0.0:.4g}"  # + 0.0: never -0


def _percent(share: float) -> str:
    return f"{round(100 * share, 9):.3g} %"  # what rounding leaves reads as 0


def _off(predicted: float, seen: float) -> str:
    if not (math.isfinite(predicted) and math.isfinite(seen)) or predicted == 0.0 == seen:
        return ""
    return _percent(abs(predicted - seen) / abs(seen)) if seen else ""
