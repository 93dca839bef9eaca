"""What the site is made of, without Sphinx: every theorem, name and script has its page."""

import ast
import json
import re
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import rectilinear as rl
from rectilinear.reproduce import CLAIMS, Entry, Verdict
from rectilinear.theorems import THEOREMS

WEBSITE = Path(__file__).parents[1] / "website"
if not WEBSITE.exists():
    pytest.skip("the site's source is not in the sdist", allow_module_level=True)
sys.path.insert(0, str(WEBSITE))

import ledger_pages  # noqa: E402
import reference  # noqa: E402
import theorem_pages  # noqa: E402
import writing  # noqa: E402

GALLERY = sorted((WEBSITE / "gallery").glob("*/*.py"))


@pytest.fixture(scope="module")
def ledger():
    """Every claim with its recorded verdict, as if measured."""
    return {claim.name: Entry(claim, claim.recorded, (), {}, {}, "", 0.0) for claim in CLAIMS}


@pytest.fixture
def nowhere(monkeypatch):
    """Without trying every data set, which takes a while."""
    monkeypatch.setattr(theorem_pages, "applicability", lambda: {name: {} for name in THEOREMS})


@pytest.mark.usefixtures("nowhere")
def test_every_theorem_has_its_page_its_claims_and_its_script(ledger):
    assert set(theorem_pages.CLAIMS) == set(THEOREMS)
    pages = dict(theorem_pages.pages(ledger))
    for theorem in THEOREMS.values():
        page = pages[f"theorems/{theorem.name}.md"]
        assert all(f"`{name}`" in page for name in theorem.breaks)
        assert all(writing.prose(ledger[name].claim.statement) in page for name in theorem_pages.CLAIMS[theorem.name])
        assert f"/gallery/theorems/plot_{theorem.name}`" in page
        assert (WEBSITE / "gallery" / "theorems" / f"plot_{theorem.name}.py").exists()
        assert f"({theorem.name}.md)" in pages["theorems/index.md"]


def test_where_a_theorem_applies_is_measured(monkeypatch):
    monkeypatch.setattr(rl.datasets, "NAMES", ("xor", "six_points"))
    theorem_pages.applicability.cache_clear()
    found = theorem_pages.applicability()
    theorem_pages.applicability.cache_clear()
    assert list(found["xor"]) == ["xor"]
    assert found["xor"]["xor"][:2] == ["square loss, tiny start", "logistic loss, tiny start"]
    assert "six_points" in found["perturbed_symmetry"]
    assert "six_points" not in found["two_neurons"]


def test_every_claim_is_on_its_papers_page(ledger):
    pages = dict(ledger_pages.pages(ledger, {}))
    for claim in CLAIMS:
        assert f"(claim-{claim.name})=" in pages[f"ledger/{claim.paper}.md"]
        assert f"(#claim-{claim.name})" in pages["ledger/index.md"]
    assert all(name in pages["ledger/studies.md"] for name in rl.studies.MAKERS)


def test_studies_show_what_was_found_where_they_were_run(tmp_path):
    assert ledger_pages.read_studies(tmp_path) == {}
    texts = {"question": "Why?", "source": "Nobody", "finding": "Because x_i grows."}
    (tmp_path / "far_limits.json").write_text(json.dumps(texts))
    page = dict(ledger_pages.pages({}, ledger_pages.read_studies(tmp_path)))["ledger/studies.md"]
    assert "## Why?" in page
    assert "Because x<sub>i</sub> grows." in page
    assert "(../_ledger/far_limits.png)" in page


def test_verdicts_have_colours():
    assert ledger_pages.badge(Verdict.CONTRADICTED) == "{bdg-danger}`contradicted`"
    assert ledger_pages.badge(Verdict.CORRECTED) == "{bdg-warning}`corrected`"


def test_the_reference_has_every_public_name_once_and_no_address_of_memory():
    pages = dict(reference.pages())
    whole = "\n".join(pages.values())
    for name in rl.__all__:
        if name not in ("conditions", "datasets", "measures", "plots", "report", "theorems"):
            assert (
                len(re.findall(rf"^:+\{{py:(?:class|function)\}} {name}\b", pages["reference/rectilinear.md"], re.M)) == 1
            ), name
    for module in reference.MODULES.values():
        assert all(f"\n## {name}\n" in whole for name in reference.public_names(module))
    assert " at 0x" not in whole
    assert "## rectilinear diagnose" in pages["reference/command_line.md"]
    listed = (WEBSITE / "pages" / "reference" / "index.md").read_text()
    assert all(f"\n{module}\n" in listed for module in reference.MODULES)


def test_docstrings_become_markdown():
    text = """One line with |w_h|^2 < 1 * 2 and `code_h`.

    A formula:

        a = b < c

    - one
    - two
    >>> 1 + 1
    2
    """
    assert writing.docstring(text) == (
        "One line with &#124;w<sub>h</sub>&#124;<sup>2</sup> &lt; 1 \\* 2 and `code_h`.\n\nA formula:\n\n"
        "```text\na = b < c\n```\n\n- one\n- two\n\n```python\n>>> 1 + 1\n2\n```"
    )
    assert writing.docstring("- x is less.\nThan y.") == "\\- x is less.\nThan y."


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_scripts_are_whole_and_use_what_there_is(script):
    tree = ast.parse(script.read_text())
    assert "\n===" in ast.get_docstring(tree), "a script begins with its title"
    for node in ast.walk(tree):
        dotted = re.fullmatch(r"rl((?:\.\w+)+)", ast.unparse(node)) if isinstance(node, ast.Attribute) else None
        if dotted is not None:
            attrgetter(dotted[1][1:])(rl)


ROOT = WEBSITE.parent
READ = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")),
]


@pytest.mark.parametrize("page", READ)
def test_links_between_files_lead_to_files(page):
    links = re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text())
    inside = [link.partition("#")[0] for link in links if "://" not in link and not link.startswith("#")]
    missing = [link for link in inside if not ((ROOT / page).parent / link).is_file()]
    assert missing == []


def test_the_readmes_film_moves_and_is_small():
    from PIL import Image

    film = ROOT / "docs" / "figure_2.gif"
    assert film.stat().st_size < 2_000_000
    with Image.open(film) as frames:
        assert frames.n_frames > 30


def test_every_page_of_docs_is_in_the_sites_navigation():
    indices = "".join(path.read_text() for path in WEBSITE.glob("pages/*/index.md"))
    listed = indices + dict(ledger_pages.pages({}, {}))["ledger/index.md"]
    for page in READ[1:]:
        assert f"../{page.removesuffix('.md')}\n" in listed, page


def test_statements_are_typeset():
    text = "The rate G_k = s_k <phi(u_k . x) theta> <= 1 for `alpha`:\n\n    A_k' = sum_j Q_{kj} A_j,   u -> sqrt(2).\n\nSo it is."
    assert writing.statement(text) == (
        "The rate G<sub>k</sub> = s<sub>k</sub> ⟨φ(u<sub>k</sub> · x) θ⟩ ≤\u00a01 for `alpha`:\n\n"
        '<div class="formula">A<sub>k</sub>&#x27; = ∑<sub>j</sub> Q<sub>kj</sub> A<sub>j</sub>,   u → √(2).</div>\n\nSo it is.'
    )
    assert writing.mathematics("where a < b and c > d, the weights' size") == "where a < b and c > d, the weights' size"
