"""A Diagnosis: what was found about a problem, which theorems therefore apply, and what they predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from ..arrays import Array
from ..bibliography import bibtex
from ..compare import Comparison
from ..conditions import Budget, Finding
from ..dataset import Dataset
from ..errors import InputError
from ..jsonable import json_text
from ..prediction import Prediction
from ..problem import Problem
from ..theorems.theorem import Theorem
from ..trajectory import Trajectory
from .card import card, next_sentence
from .look_ahead import NOTED, LookAhead
from .plain import plain


@dataclass(frozen=True, eq=False)
class Symmetry:
    """How far the data are from Condition 3 (even inputs, odd target), as shares and relative distances; 0 is symmetric.

    `unpaired`: share of the samples without a mirror image of their own within `tolerance` times rms|x|. `matching_distance`:
    the distance W_2(x, -x) of optimal matching, relative to rms|x|; `matching_at_most` is larger where only bounds are
    affordable, and `matching_method` says which. `half_space_inputs` and `half_space_labels`: the largest deviation of
    half-space averages from full ones (Lemma 10), |<sign(r.x) x x^T>| / |Sigma| and |<sign(r.x) x y>| / <|x y|>, over directions
    r that matter; `half_space_direction` names the worst. `even_p` and `odd_p`: p-values of the questions whether the sample
    could come from a distribution with p(x) = p(-x), and with p(x, y) = p(-x, -y). `nearest`: the nearest symmetric data set
    (x and y together), `distance` away from it, relative to the spread of the data; `distance_is_exact` or an upper bound.
    `precision` is that of the numbers: a smaller distance is none.
    """

    unpaired: float
    tolerance: float
    matching_distance: float
    matching_at_most: float
    matching_method: str
    half_space_inputs: float
    half_space_labels: float
    half_space_direction: str
    even_p: float
    odd_p: float
    distance: float
    distance_is_exact: bool
    nearest: Dataset
    precision: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Condition 3 holds in the sample, to the precision of its numbers."""
        return self.distance <= self.precision


@dataclass(frozen=True, eq=False)
class Reading:
    """One `theorem` held against the problem: it `applies` where all its `findings` hold."""

    theorem: Theorem
    findings: tuple[Finding, ...]

    @property
    def applies(self) -> bool:
        return all(finding.holds for finding in self.findings)

    @property
    def missing(self) -> tuple[Finding, ...]:
        """The hypotheses that fail or are undecided."""
        return tuple(finding for finding in self.findings if not finding.holds)

    def __repr__(self) -> str:
        verdict = "applies" if self.applies else f"needs {', '.join(finding.name for finding in self.missing)}"
        return f"{self.theorem.name}: {verdict}"


@dataclass(frozen=True, eq=False)
class Ending:
    """Where training ends: its `kind`, the linear map w (d,) or the direction of a diverging one, and the loss there.

    `kind` is one of the keys of `ENDINGS`, whose values are the words a user reads; what the theory does not say is None.
    """

    kind: str
    linear_map: Array | None = None
    direction: Array | None = None
    loss: float | None = None

    def __str__(self) -> str:
        loss = "" if self.loss is None else f", loss {self.loss:.4g}"
        return f"{ENDINGS[self.kind]}{loss}"


ENDINGS = {
    "least_squares": "the least-squares fit of a linear model",
    "logistic_regression": "the optimum of logistic regression (a linear model)",
    "regularised_linear": "the best linear model under weight decay",
    "max_margin": "the maximum-margin direction of a linear classifier",
    "class_max_margin": "two groups of neurons, each the maximum-margin direction of its own class",
    "low_rank": "the maximum-margin solution with the activation pattern of the classes",
    "zero_loss": "zero loss: every label is fitted",
    "predicted": "where the predicted curve ends",
    "unknown": "not predicted by any theorem here",
}


@dataclass(frozen=True, eq=False)
class PlateauForecast:
    """The loss sits at `height` from t = `begins` until `ends` (infinity: for good; nan: the end is not predicted)."""

    height: float
    begins: float
    ends: float

    @property
    def duration(self) -> float:
        return self.ends - self.begins


@dataclass(frozen=True, eq=False, repr=False)
class Outlook:
    """What happens next, as far as a theorem says; what none says is None.

    `prediction`: the run by the strongest theorem, at times chosen so that it is over at the last one. `first_drop`: the time
    at which half of the first fall of the loss (to the plateau, or to the end) is done, by `prediction` or else by `mirrored`.
    `ending`: the final solution. `plateau`: where the loss rests before its end. `effective_rank`: |W_1|_F^2 / |W_1|_2^2 of the
    first layer when the prediction is over. `mirrored`: the prediction for the same network on the data with mirror images
    (-x, -y) added, where no theorem speaks of the data as they are: what a bias-free network would do if the data were
    symmetric; its problem is the symmetrised one, and `mirrored_limit` the loss it would end at. `ahead`: a short simulation of
    the data as they are, where no theorem speaks of them.
    """

    prediction: Prediction | None
    first_drop: float | None
    ending: Ending
    plateau: PlateauForecast | None
    effective_rank: float | None
    mirrored: Prediction | None
    mirrored_limit: float | None = None
    ahead: LookAhead | None = None

    def __repr__(self) -> str:
        return f"Outlook: {next_sentence(self)}"


@dataclass(frozen=True)
class Suggestion:
    """Something to do about a verdict, and the theorem or passage of the papers behind it."""

    text: str
    theorem: str

    def __str__(self) -> str:
        return f"{self.text} ({self.theorem})"


@dataclass(frozen=True, eq=False)
class Verification:
    """The simulated `run` beside the prediction: `comparison` (None where nothing was predicted) and `rows`.

    `rows` are (quantity, predicted, simulated); numbers are nan where a side has none. `found` is the largest difference of the
    losses and `stated` the error that was stated there, both relative to the first loss; None where none was stated. `found` counts
    what is left where times may be off by the share `time_error` that was stated of them.
    """

    run: Trajectory
    comparison: Comparison | None
    rows: tuple[tuple[str, float, float], ...]
    stated: float | None = None
    found: float | None = None
    time_error: float = 0.0

    @property
    def agrees(self) -> bool | None:
        """The simulation is within the error that was stated, and the tolerance of the simulation itself."""
        if self.stated is None or self.found is None:
            return None
        return self.found <= self.stated + float(self.run.provenance.get("rtol", 0.0))

    @property
    def judgement(self) -> str | None:
        """Whether the losses kept to what was stated, as a sentence without its full stop; None where nothing was."""
        if self.stated is None or self.found is None:
            return None
        allowed = f"allowing times to be off by {100 * self.time_error:.2g} %, " if self.time_error >= NOTED else ""
        if not self.found:
            return f"{allowed}losses do not differ ({100 * self.stated:.2g} % of the first was stated)"
        within = "within" if self.agrees else "more than"
        return (
            f"{allowed}losses differ by {100 * self.found:.2g} % of the first, {within} the {100 * self.stated:.2g} % stated"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """Everything `diagnose` says about a problem; print it for one screen of text, `to_json()` for machines.

    `findings`: the hypotheses by name, twelve on data and start in a fixed order and then those that only theorems ask for
    (`diagnosis["even_inputs"]` is short for
    `diagnosis.findings["even_inputs"]`); each has .holds (True, False, None for undecided), .measured, .threshold, .witness,
    .sentence and, for `even_inputs` and `odd_target`, .p_value of the question about the population. `symmetry`: how far the
    data are from Condition 3. `budget`: shares of the labels that are linear, even, and beyond two layers, with the loss floor.
    `theorems`: a Reading of every theorem, those that apply first, strongest first. `outlook`: what happens next.
    `suggestions` and `warnings`: what to do about it. `verified`: prediction and simulation side by side, where asked for.
    """

    problem: Problem
    findings: Mapping[str, Finding]
    symmetry: Symmetry
    budget: Budget
    theorems: tuple[Reading, ...]
    outlook: Outlook
    suggestions: tuple[Suggestion, ...]
    warnings: tuple[str, ...]
    verified: Verification | None = None
    augmentation: str | None = None  # what adding mirror images would cost

    def __getitem__(self, name: str) -> Finding:
        if name not in self.findings:
            raise InputError(f"a finding's name must be one of {', '.join(self.findings)}, found {name!r}.")
        return self.findings[name]

    @property
    def applicable(self) -> tuple[Reading, ...]:
        """The theorems that apply, strongest first."""
        return tuple(reading for reading in self.theorems if reading.applies)

    def __repr__(self) -> str:
        return card(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(card(self))}</pre>"

    def citations(self) -> str:
        """What the diagnosis rests on, as BibTeX: the papers of theorems that apply and of advice, this package, real data."""
        shown = (self.outlook.prediction, self.outlook.mirrored)
        sources = [
            *(reading.theorem.source for reading in self.applicable),
            *(suggestion.theorem for suggestion in self.suggestions),
            *(told.source for told in shown if told is not None),
        ]
        return bibtex(sources, self.problem.data.name)

    def to_json(self) -> str:
        """Everything but arrays of samples, as JSON text; infinite and undefined numbers are null."""
        return json_text(plain(self))
