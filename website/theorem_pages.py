"""A page per theorem, from the registry: statement, hypotheses, times, where it applies, what the ledger measured, whom to cite."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import rectilinear as rl
from ledger_pages import claim_section
from rectilinear import conditions
from rectilinear.bibliography import PAPERS
from rectilinear.reproduce import Entry
from rectilinear.theorems import THEOREMS, Theorem
from rectilinear.theorems.theorem import any_time, finite_times, limit_only
from writing import mathematics, prose, statement, table

CLAIMS: Mapping[str, Sequence[str]] = {  # the claims of the ledger that measure each theorem
    "limit": ("corollary_6_square", "corollary_6_logistic"),
    "time_course": ("corollary_14",),
    "symmetric_data": ("theorem_5_square", "theorem_5_logistic", "equation_7", "l2_regularisation"),
    "early_phase": ("theorem_13", "lemma_12"),
    "two_neurons": ("figure_1", "figure_1_seeds"),
    "deep_reduction": ("equations_43_45", "equation_41", "deep_equivalence", "figure_3"),
    "xor": ("xor",),
    "orthogonal": ("orthogonal_inputs",),
    "perturbed_symmetry": ("figure_2", "plateau_duration"),
    "class_max_margin": ("pl_limit", "pl_course"),
    "fixed_layer": ("kou_orthogonal",),
    "low_rank_bias": ("kou_leaky_rank", "kou_relu_rank", "kou_margins"),
}
WINDOWS = {
    any_time: "All times, t = ∞ included.",
    finite_times: "All finite times.",
    limit_only: "t = ∞ alone.",
}
SETTINGS = {  # how a data set is tried: words, options of the network, of the start, and the loss
    "square loss, tiny start": ({}, {"scale": 1e-8}, "square"),
    "logistic loss, tiny start": ({}, {"scale": 1e-8}, "logistic"),
    "square loss, rank-one start": ({}, {"scale": 1e-3, "start": "rank_one"}, "square"),
    "logistic loss, fixed second layer": ({"trainable": (True, False)}, {"scale": 1e-3, "start": "two_class"}, "logistic"),
}
WIDTH = 20
DEEP = "three layers, aligned start"


def pages(ledger: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    """(path, text) of the page of each theorem and of their overview."""
    for theorem in THEOREMS.values():
        yield f"theorems/{theorem.name}.md", page(theorem, [ledger[name] for name in CLAIMS[theorem.name]])
    yield "theorems/index.md", _overview()


def page(theorem: Theorem, entries: Sequence[Entry]) -> str:
    key = _key(theorem)
    where = sys.modules[theorem.solve.__module__]
    parts = [
        f"# {prose(_sentence(theorem.title))}",
        f"`{theorem.name}`, from {prose(theorem.source)} {{cite}}`{key}`. See it run: "
        f"{{doc}}`/gallery/theorems/plot_{theorem.name}`.",
        "## What it says",
        statement(where.__doc__),
        "## What it assumes",
        table(("hypothesis", "what it asks", "without it"), [_hypothesis(theorem, name) for name in theorem.breaks]),
        "A hypothesis marked • cannot be waived: without it the formulas mean nothing. The others yield to `force=True`.",
        "## The times it speaks of",
        WINDOWS.get(theorem.window) or statement(theorem.window.__doc__),
        "## Where it applies",
        _where(theorem),
        "## What was measured",
        *(claim_section(entry, level=3, figures="../_ledger") for entry in entries),
        "## Ask for it",
        f"```python\nrl.predict(problem, times, theorem={theorem.name!r})\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _key(theorem: Theorem) -> str:
    """The name of the theorem's paper in the bibliography."""
    entry = next(entry for mark, entry in PAPERS.items() if mark in theorem.source)
    return entry.partition("{")[2].partition(",")[0]


def _hypothesis(theorem: Theorem, name: str) -> tuple[str, str, str]:
    measured = getattr(conditions, name, None)
    asks = (
        (measured.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        if measured
        else "the times asked for are within its window."
    )
    mark = " •" if name in theorem.essential else ""
    return (
        f"`{name}`{mark}",
        prose(mathematics(" ".join(asks.split()))),
        prose(mathematics(_sentence(theorem.breaks[name])) + "."),
    )


def _where(theorem: Theorem) -> str:
    found = applicability()
    rows = [(f"`{data}`", ", ".join(words)) for data, words in found[theorem.name].items()]
    if not rows:
        return (
            "None of the named data sets satisfies it in the settings that are tried here; the gallery shows one that does."
        )
    tried = f"Tried: every named data set with {WIDTH} ReLU neurons and four settings of loss, start and second layer."
    return f"{table(('data set', 'settings in which every hypothesis holds'), rows)}\n\n{tried}"


@cache
def applicability() -> dict[str, dict[str, list[str]]]:
    """Theorem -> data set -> the settings in which all hypotheses hold, measured."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in THEOREMS}
    for name in rl.datasets.NAMES:
        data = rl.datasets.make(name)
        for words, (network, start, loss) in SETTINGS.items():
            try:
                net = rl.Network(inputs=data.inputs, widths=(WIDTH,), **network)
                problem = rl.Problem(data, net, net.init(seed=0, **start), loss)
            except rl.InputError:
                continue  # labels that are not classes
            for theorem in THEOREMS.values():
                if all(finding.holds for finding in theorem.hypotheses(problem)):
                    found[theorem.name].setdefault(name, []).append(words)
    return found


def _overview() -> str:
    ranked = sorted(THEOREMS.values(), key=lambda theorem: -theorem.strength)
    rows = [
        (f"[`{theorem.name}`]({theorem.name}.md)", prose(_sentence(theorem.title)), prose(theorem.source))
        for theorem in ranked
    ]
    return "\n\n".join(
        (
            "# Theorems",
            "Each page is made from the registry that `predict` and `diagnose` use, and from the ledger of what was measured. "
            "`predict` takes the first of this list whose hypotheses all hold.",
            table(("name", "what it says", "source"), rows),
            "```{toctree}\n:hidden:\n\n" + "\n".join(f"{theorem.name} <{theorem.name}>" for theorem in ranked) + "\n```",
        )
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
