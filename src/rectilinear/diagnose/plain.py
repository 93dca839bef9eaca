"""A Diagnosis as plain values, which `jsonable` turns into JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .look_ahead import sentence

if TYPE_CHECKING:
    from ..prediction import Prediction
    from .diagnosis import Diagnosis, Outlook, Symmetry, Verification
    from .look_ahead import LookAhead


def plain(diagnosis: Diagnosis) -> dict[str, Any]:
    """Nested dictionaries, lists, arrays, texts and numbers."""
    problem, budget = diagnosis.problem, diagnosis.budget
    return {
        "problem": repr(problem),
        "samples": problem.data.samples,
        "inputs": problem.data.inputs,
        "findings": {name: finding.to_json() for name, finding in diagnosis.findings.items()},
        "symmetry": _symmetry(diagnosis.symmetry),
        "budget": {
            **dict(zip(("linear", "even", "inexpressible"), budget.fractions, strict=True)),
            "loss_floor": budget.loss_floor,
        },
        "theorems": [
            {
                "name": reading.theorem.name,
                "title": reading.theorem.title,
                "source": reading.theorem.source,
                "applies": reading.applies,
                "missing": {finding.name: finding.sentence for finding in reading.missing},
            }
            for reading in diagnosis.theorems
        ],
        "outlook": _outlook(diagnosis.outlook),
        "suggestions": [vars(suggestion) for suggestion in diagnosis.suggestions],
        "warnings": diagnosis.warnings,
        "verified": None if diagnosis.verified is None else _verification(diagnosis.verified),
    }


def _symmetry(symmetry: Symmetry) -> dict[str, Any]:
    return {name: value for name, value in vars(symmetry).items() if name != "nearest"}


def _outlook(outlook: Outlook) -> dict[str, Any]:
    return {
        "prediction": _prediction(outlook.prediction),
        "first_drop": outlook.first_drop,
        "ending": {**vars(outlook.ending), "sentence": str(outlook.ending)},
        "plateau": None if outlook.plateau is None else {**vars(outlook.plateau), "duration": outlook.plateau.duration},
        "effective_rank": outlook.effective_rank,
        "mirrored": _prediction(outlook.mirrored),
        "ahead": None if outlook.ahead is None else _ahead(outlook.ahead),
    }


def _ahead(ahead: LookAhead) -> dict[str, Any]:
    shown = {name: value for name, value in vars(ahead).items() if name != "run"}
    return {**shown, "times": ahead.run.times[: len(ahead.loss)], "sentence": sentence(ahead)}


def _prediction(prediction: Prediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    return {"theorem": prediction.theorem, "times": prediction.times, "loss": prediction.loss}


def _verification(verified: Verification) -> dict[str, Any]:
    rows = [{"quantity": name, "predicted": predicted, "simulated": seen} for name, predicted, seen in verified.rows]
    return {
        "status": verified.run.ended,
        "times": verified.run.times,
        "loss": verified.run.loss,
        "rows": rows,
        "stated_error": verified.stated,
        "found_error": verified.found,
    }
