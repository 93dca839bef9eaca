"""The ledger of the papers' claims: verdicts, keeping, failures, files, command line."""

import json
import re
from dataclasses import dataclass

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

import rectilinear as rl
from rectilinear import cli, reproduce
from rectilinear.reproduce import Claim, Entry, Evidence, Form, Measurement, Picture, Verdict, ledger
from rectilinear.reproduce.claim import at_least, at_most, between, noted, written
from rectilinear.reproduce.papers import PAPERS

FINE = at_most("error", 0.1, 1.0)
TOO_LARGE = at_most("error", 2.0, 1.0)
MENDED = at_most("error", 0.5, 1.0, Form.CORRECTED)
STILL_TOO_LARGE = at_most("error", 2.0, 1.0, Form.CORRECTED)


def evidence(*measurements, **more):
    return Evidence(measurements, **more)


def picture(name="curve"):
    figure = Figure()
    figure.subplots().plot([0.0, 1.0])
    return Picture(name, "A line that rises.", figure)


@dataclass
class Finding:
    """A check that finds this, and can be sent to another process."""

    found: Evidence
    at_full_size: Evidence | None = None

    def __call__(self, full):
        return self.at_full_size if full else self.found


def broken(full):
    raise ValueError("no such number")


def claim(name, check, recorded=Verdict.CONFIRMED, paper="zhang"):
    return Claim(name, f"Title of {name}", paper, "Eq. 0", f"Statement of {name}.", recorded, check)


@pytest.fixture
def counted():
    """A claim that counts how often it was measured."""
    calls = []

    def check(full):
        calls.append(full)
        return evidence(FINE, noted("of interest", 3.0), pictures=(picture(),), settings={"seed": 0}, remark="It is so.")

    return claim("counted", check), calls


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (evidence(FINE), Verdict.CONFIRMED),
        (evidence(FINE, MENDED), Verdict.CONFIRMED),
        (evidence(noted("only to be read", 7.0)), Verdict.INCONCLUSIVE),
        (evidence(), Verdict.INCONCLUSIVE),
        (evidence(TOO_LARGE), Verdict.CONTRADICTED),
        (evidence(FINE, TOO_LARGE), Verdict.CONTRADICTED),
        (evidence(TOO_LARGE, MENDED), Verdict.CORRECTED),
        (evidence(TOO_LARGE, MENDED, STILL_TOO_LARGE), Verdict.CONTRADICTED),
        (evidence(FINE, STILL_TOO_LARGE), Verdict.CONTRADICTED),
        (evidence(at_most("nan never holds", np.nan, 1.0)), Verdict.CONTRADICTED),
        (evidence(FINE, open_question="Nobody knows."), Verdict.INCONCLUSIVE),
    ],
)
def test_the_verdict_follows_from_the_measurements(found, verdict):
    assert found.verdict is verdict


@pytest.mark.parametrize(
    ("measurement", "text", "holds"),
    [
        (at_most("a", 2e-9, 1e-8), "a: 2·10⁻⁹ (≤ 10⁻⁸)", True),
        (at_least("b", 0.5, 1.0), "b: 0.5 (≥ 1)", False),
        (between("c", 0.5, 0.25, 0.75), "c: 0.5 (0.25 to 0.75)", True),
        (noted("d", 1.25), "d: 1.25", True),
    ],
)
def test_a_measurement_says_what_where_and_whether(measurement, text, holds):
    assert (str(measurement), measurement.holds) == (text, holds)


@pytest.mark.parametrize(
    "measurement",
    [FINE, MENDED, at_least("b", np.inf, 1.0), noted("c", 1.0), at_most("nan", np.nan, 1.0), between("d", 1, 0, 2)],
)
def test_measurements_survive_json_where_infinity_and_nan_do_not_exist(measurement):
    again = Measurement.from_json(json.loads(json.dumps(measurement.to_json(), allow_nan=False)))
    assert (again.what, again.low, again.high, again.form) == (
        measurement.what,
        measurement.low,
        measurement.high,
        measurement.form,
    )
    assert again.value == measurement.value or not np.isfinite(measurement.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-0.5, "-0.5"),
        (1 - 1e-9, "0.999999999"),
        (1.0004, "1.0004"),
        (999.96, "1000"),
        (123456.7, "123457"),
        (1.5e-12, "1.5·10⁻¹²"),
        (np.inf, "inf"),
        (np.nan, "nan"),
    ],
)
def test_numbers_are_written_so_that_they_differ_from_whole_ones_if_they_do(value, text):
    assert written(value) == text


def test_a_run_writes_figures_numbers_ledger_and_page(tmp_path):
    numbers = {"error": ("step", np.array([1.0, 2.0]))}
    one = claim("one", lambda full: evidence(FINE, pictures=(picture(),), numbers=numbers, settings={"seed": 1}))
    found = reproduce.reproduce([one], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "claims",
        "curve.pdf",
        "curve.png",
        "ledger.json",
        "one.nc",
        "report.html",
    }
    assert found.counts == {Verdict.CONFIRMED: 1}
    assert not found.surprises
    (row,) = json.loads((tmp_path / "ledger.json").read_text())["claims"]
    assert (row["name"], row["verdict"], row["settings"]) == ("one", "confirmed", {"seed": 1})

    import xarray

    with xarray.open_dataset(tmp_path / "one.nc", engine="h5netcdf") as contents:
        assert contents["error"].values.tolist() == [1.0, 2.0]
        assert contents.attrs["source"] == "Eq. 0"


def test_what_was_measured_is_kept_until_the_size_the_code_or_a_figure_changes(tmp_path, counted, monkeypatch):
    one, calls = counted
    first = reproduce.reproduce([one], tmp_path)
    again = reproduce.reproduce([one], tmp_path)
    assert calls == [False]
    assert first.to_json() == again.to_json()

    (tmp_path / "curve.png").unlink()
    reproduce.reproduce([one], tmp_path)
    assert calls == [False, False]

    reproduce.reproduce([one], tmp_path, full=True)
    assert calls == [False, False, True]

    monkeypatch.setattr(ledger, "fingerprint", lambda full: "another state of the code")
    reproduce.reproduce([one], tmp_path)
    assert len(calls) == 4


@pytest.mark.parametrize("contents", ["", "{", "[]", '{"code": 1}'])
def test_a_row_that_was_cut_off_is_measured_again(tmp_path, counted, contents):
    one, calls = counted
    reproduce.reproduce([one], tmp_path)
    (tmp_path / "claims" / "counted.json").write_text(contents)
    reproduce.reproduce([one], tmp_path)
    assert len(calls) == 2


def test_a_failing_check_becomes_a_row_and_does_not_stop_the_rest(tmp_path, counted):
    found = reproduce.reproduce([claim("broken", broken), counted[0]], tmp_path)
    failed, fine = found.entries
    assert failed.verdict is Verdict.FAILED
    assert re.fullmatch(r"ValueError in test_reproduce\.py, line \d+: no such number", failed.remark)
    assert fine.verdict is Verdict.CONFIRMED
    assert found.surprises == (failed,)
    assert not (tmp_path / "claims" / "broken.json").exists()  # so that it is tried again
    assert "The check broke off: ValueError" in (tmp_path / "report.html").read_text()


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, counted):
    one, calls = counted

    def interrupted(full):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce.reproduce([one, claim("second", interrupted)], tmp_path)
    found = reproduce.reproduce([one, claim("second", lambda full: evidence(FINE))], tmp_path)
    assert len(calls) == 1
    assert [entry.claim.name for entry in found.entries] == ["counted", "second"]


def test_named_claims_are_measured_and_others_shown_as_they_were_kept(tmp_path, counted):
    one, calls = counted
    claims = [one, claim("second", lambda full: evidence(FINE)), claim("third", lambda full: evidence(FINE))]
    found = reproduce.reproduce(claims, tmp_path, names=["second"])
    assert [entry.claim.name for entry in found.entries] == ["second"]
    found = reproduce.reproduce(claims, tmp_path, names=["counted"])
    assert [entry.claim.name for entry in found.entries] == ["counted", "second"]
    assert len(calls) == 1


def test_progress_tells_what_runs_and_what_is_done(tmp_path, counted):
    told = []
    claims = [counted[0], claim("second", lambda full: evidence(TOO_LARGE))]
    reproduce.reproduce(
        claims, tmp_path, progress=lambda entry, claim, k, n: told.append((claim.name, entry and entry.verdict, k, n))
    )
    assert told == [
        ("counted", None, 0, 2),
        ("counted", Verdict.CONFIRMED, 1, 2),
        ("second", None, 1, 2),
        ("second", Verdict.CONTRADICTED, 2, 2),
    ]
    told.clear()
    reproduce.reproduce(
        [*claims, claim("third", lambda full: evidence(FINE))],
        tmp_path,
        progress=lambda entry, claim, k, n: told.append((claim.name, entry and entry.verdict, k, n)),
    )
    assert told == [
        ("counted", Verdict.CONFIRMED, 1, 3),
        ("second", Verdict.CONTRADICTED, 2, 3),
        ("third", None, 2, 3),
        ("third", Verdict.CONFIRMED, 3, 3),
    ]


def test_claims_measured_side_by_side_give_the_same_ledger(tmp_path):
    claims = [
        claim("one", Finding(evidence(FINE, pictures=(picture("first"),)))),
        claim("two", broken),
        claim("three", Finding(evidence(TOO_LARGE, numbers={"error": ("step", np.array([1.0]))}))),
    ]
    apart, alone = (reproduce.reproduce(claims, tmp_path / str(jobs), jobs=jobs) for jobs in (2, 0))
    assert [entry.verdict for entry in apart.entries] == [Verdict.CONFIRMED, Verdict.FAILED, Verdict.CONTRADICTED]
    assert apart.to_json() == alone.to_json()
    assert (tmp_path / "2" / "first.png").read_bytes() == (tmp_path / "0" / "first.png").read_bytes()
    assert (tmp_path / "2" / "three.nc").exists()


def test_unknown_names_and_unusable_folders_are_refused(tmp_path, counted):
    with pytest.raises(rl.InputError, match=r"^names must be among counted, found figure_9\.$"):
        reproduce.reproduce([counted[0]], tmp_path, names=["figure_9"])
    (tmp_path / "file").write_text("")
    with pytest.raises(rl.FileError, match=r"file: the folder could not be made \(.*\); choose another place\.$"):
        reproduce.reproduce([counted[0]], tmp_path / "file")
    (tmp_path / "ledger.json").mkdir()
    with pytest.raises(rl.FileError, match=r"ledger\.json: it could not be written \(.*\); choose another place\.$"):
        reproduce.reproduce([counted[0]], tmp_path)


def test_the_headline_is_the_number_that_decided():
    def entry(*measurements):
        return Entry(claim("a", None), Verdict.CONFIRMED, measurements, {}, {}, "remark", 0.0)

    assert entry(noted("b", 1.0), FINE, TOO_LARGE).headline == str(TOO_LARGE)
    assert entry(noted("b", 1.0), FINE).headline == str(FINE)
    assert entry(noted("b", 1.0)).headline == "remark"
    corrected = Entry(claim("a", None), Verdict.CORRECTED, (TOO_LARGE, MENDED), {}, {}, "", 0.0)
    assert corrected.headline == f"{TOO_LARGE}; corrected: {MENDED}"


@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (at_most("a", 1.0, 1.0 + 1e-12), "≤ 1 + 10⁻¹²"),
        (at_least("a", 1.0, 1.0 - 1e-9), "≥ 1 \N{MINUS SIGN} 10⁻⁹"),
        (between("a", 1.0, 1.0 - 2e-6, 1.0 + 2e-6), "1 ± 2·10⁻⁶"),
        (between("a", 1.0, 1.0 - 1e-6, 1.0 + 1e-9), "1 \N{MINUS SIGN} 10⁻⁶ to 1 + 10⁻⁹"),
        (between("a", 1.0, 0.45, 1.1), "0.45 to 1.1"),
        (at_most("a", 1.0, 1e-12), "≤ 10⁻¹²"),
        (at_most("a", 1.0, 1.0), "≤ 1"),
    ],
)
def test_thresholds_are_written_as_by_hand(measurement, text):
    assert measurement.threshold == text


def test_every_paper_that_can_be_read_has_its_address():
    assert {key for key, paper in PAPERS.items() if paper.url is None} == {"simon"}


@pytest.fixture
def call(monkeypatch, tmp_path):
    """The command with three claims of our own."""
    claims = (
        claim("fine", Finding(evidence(at_most("reduced", 0.1, 1.0)), evidence(at_most("full", 0.1, 1.0)))),
        claim("mended", Finding(evidence(TOO_LARGE, MENDED)), Verdict.CORRECTED),
        claim("surprising", Finding(evidence(TOO_LARGE))),
    )
    monkeypatch.setattr(reproduce, "CLAIMS", claims)

    def invoke(*arguments):
        return CliRunner().invoke(cli.main, ["reproduce", "--jobs", "1", "--out", str(tmp_path), *arguments])

    return invoke


def test_the_command_prints_a_line_for_each_claim_and_fails_on_surprises(call, tmp_path):
    result = call()
    assert result.exit_code == 1
    lines = [re.sub(r" +[\d.]+ s ", " 0 s ", line) for line in result.stdout.splitlines()]
    assert lines == [
        "  1/3  confirmed     fine 0 s  reduced: 0.1 (≤ 1)",
        *lines[1:3],
        "3 claims: 1 confirmed, 1 corrected, 1 contradicted",
        "not as recorded: surprising (recorded: confirmed)",
        str(tmp_path / "report.html"),
    ]
    assert "corrected" in lines[1]
    assert "contradicted" in lines[2]


def test_the_command_succeeds_where_all_is_as_recorded(call):
    result = call("fine", "--full")
    assert result.exit_code == 0
    assert "full: 0.1" in result.stdout


def test_the_command_prints_json_or_nothing(call, tmp_path):
    printed = json.loads(call("fine", "--json").stdout)
    assert [row["name"] for row in printed["claims"]] == ["fine"]
    assert printed["versions"]["rectilinear"] == rl.__version__
    assert call("mended", "--quiet").stdout == ""


def test_the_command_lists_the_claims_and_measures_none(call, tmp_path):
    result = call("--list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["fine", "confirmed"],
        ["mended", "corrected"],
        ["surprising", "confirmed"],
    ]
    assert PAPERS["zhang"].authors in lines[0]
    printed = json.loads(call("--list", "--json").stdout)
    assert [(row["name"], row["url"], row["recorded"]) for row in printed[:1]] == [
        ("fine", PAPERS["zhang"].url, "confirmed")
    ]
    assert not list(tmp_path.iterdir())


def test_the_command_refuses_unknown_names_with_a_sentence(call):
    result = call("figure_9")
    assert result.exit_code == 2
    assert result.stderr == "Error: names must be among fine, mended, surprising, found figure_9.\n"


def test_the_command_says_how_to_go_on_when_it_is_interrupted(call, monkeypatch, tmp_path):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce, "reproduce", interrupted)
    result = call()
    assert result.exit_code == 130
    assert result.stderr == (
        f"interrupted; the same command goes on with what is left (done claims are kept in {tmp_path})\n"
    )


def test_the_announcer_shows_what_is_done_what_runs_and_what_is_left(capsys):
    class Line:
        def update(self, text):
            self.text = text

    announce, line = reproduce.Announcer(), Line()
    announce._status = line
    one, two = claim("one", None), claim("two", None)
    announce(None, one, 0, 3)
    announce(None, two, 0, 3)
    assert line.text == "0 claims done; running: one, two; 1 left"
    announce(Entry(one, Verdict.CONFIRMED, (FINE,), {}, {}, "", 1.25), one, 1, 3)
    assert line.text == "1 claims done; running: two; 1 left"
    assert capsys.readouterr().out.split() == ["1/3", "confirmed", "one", "1.2", "s", "error:", "0.1", "(≤", "1)"]


def test_claims_have_names_of_their_own_and_say_where_they_come_from():
    names = [claim.name for claim in reproduce.CLAIMS]
    assert len(set(names)) == len(names)
    for one in reproduce.CLAIMS:
        assert one.paper in PAPERS
        assert one.statement.endswith(".")
        assert one.source
        assert one.recorded is not Verdict.FAILED


QUICK = (
    "theorem_1",
    "homogeneity",
    "lemma_8",
    "lemma_9",
    "lemma_10",
    "lemma_11",
    "equation_7",
    "equation_41",
    "equation_42",
    "equations_43_45",
    "gradient_descent",
)


@pytest.mark.parametrize("name", QUICK)
def test_quick_claims_get_the_recorded_verdict(name):
    (one,) = (claim for claim in reproduce.CLAIMS if claim.name == name)
    found = one.check(False)
    assert found.verdict is one.recorded, [str(measurement) for measurement in found.measurements if not measurement.holds]


def test_the_same_seeds_give_the_same_ledger(tmp_path):
    texts = [reproduce.reproduce(reproduce.CLAIMS, tmp_path / folder, names=QUICK).to_json() for folder in ("one", "two")]
    assert texts[0] == texts[1]
