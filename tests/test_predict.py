"""predict: the strongest theorem that applies, refusals with reasons, and predictions as saved, printed trajectories."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.theorems import THEOREMS, named_theorem, predict
from rectilinear.theorems.theorem import WITHIN_WINDOW
from symmetric_problems import aligned_problem, random_problem

TIMES = np.linspace(0.0, 20.0, 5)


def problems():
    """Problems of every kind, to ask every theorem about."""
    deep = rl.Network(inputs=4, widths=(4, 4))
    data = aligned_problem().data
    fixed = rl.Network(inputs=4, widths=(4,), trainable=(True, False))
    orthogonal = rl.datasets.orthogonal()
    wide = rl.Network(inputs=orthogonal.inputs, widths=(6,))
    yield aligned_problem()
    yield aligned_problem("logistic", white=True, l2=0.1)
    yield random_problem()
    yield random_problem("exponential", scale=1.0)
    yield rl.Problem(data, deep, deep.init(0.1, seed=0))
    yield rl.Problem(data, fixed, fixed.init(0.1, seed=0))
    yield rl.Problem(orthogonal, wide, wide.init(1e-3, seed=0))


@pytest.mark.parametrize("name", list(THEOREMS))
def test_every_theorem_says_what_breaks_without_each_hypothesis(name):
    theorem = named_theorem(name)
    assert theorem.source
    assert theorem.title
    for problem in problems():
        findings = theorem.hypotheses(problem)
        assert len({finding.name for finding in findings}) == len(findings)
        assert {finding.name for finding in findings if not finding.holds} <= set(theorem.breaks)
        for finding in findings:
            sides = {"at_most": np.less_equal, "at_least": np.greater_equal, "above": np.greater}
            assert finding.holds in (None, sides[finding.direction](finding.measured, finding.threshold))
    assert set(theorem.essential) <= set(theorem.breaks)


@pytest.mark.parametrize(
    ("problem", "times", "name"),
    [
        (aligned_problem(white=True), TIMES, "time_course"),
        (aligned_problem(white=False), TIMES, "symmetric_data"),
        (aligned_problem("logistic", white=True), TIMES, "symmetric_data"),
        (random_problem(), TIMES, "two_neurons"),
        (random_problem(), TIMES / 100, "early_phase"),
        (random_problem(), [np.inf], "limit"),
        (aligned_problem(white=True), [np.inf], "limit"),
        (random_problem(), [*TIMES, np.inf], "two_neurons"),
    ],
)
def test_the_strongest_theorem_is_chosen(problem, times, name):
    told = predict(problem, times)
    assert told.theorem == name
    assert not told.forced
    assert not told.failed
    assert all(finding.holds for finding in told.findings)


def test_theorems_that_share_a_case_agree():
    problem = aligned_problem(white=True, scale=1e-6)
    closed = predict(problem, TIMES, theorem="time_course")
    for name in ("symmetric_data", "two_neurons"):
        np.testing.assert_allclose(predict(problem, TIMES, theorem=name).loss, closed.loss, atol=1e-5)


def test_predictions_compose_in_time():
    """Restarting from the predicted weights at t = 8 gives the same run: the reduced flow forgets nothing."""
    problem = aligned_problem()
    whole = predict(problem, [8.0, 20.0])
    second = predict(problem.with_weights(whole.weights_at(0)), [12.0])
    np.testing.assert_allclose(second.weights[0][-1], whole.weights[0][-1], atol=1e-9)


def test_at_time_zero_the_weights_are_the_start():
    problem = aligned_problem()
    for ours, start in zip(predict(problem, [0.0]).weights, problem.weights, strict=True):
        np.testing.assert_allclose(ours[0], start, atol=1e-15)


class TestRefusals:
    def test_a_failing_hypothesis_says_required_found_and_what_breaks(self):
        with pytest.raises(
            rl.HypothesisError,
            match=r"^symmetric_data \(Zhang, Saxe & Latham, .*\) does not apply: rank_one_start is required; "
            r"found: the nearest W_2\^T r\^T is \d+(\.\d)? % of \|W_1\| away .* "
            r"Without it the function has an even part; .* Simulate instead, or see it anyway with force=True\.$",
        ):
            predict(random_problem(), TIMES, theorem="symmetric_data")

    def test_forcing_goes_on_and_says_so(self):
        told = predict(random_problem(), TIMES, theorem="symmetric_data", force=True)
        assert told.forced
        assert [finding.name for finding in told.failed] == ["rank_one_start"]
        assert "forced although rank_one_start fails" in repr(told)

    def test_no_theorem_names_the_nearest(self):
        with pytest.raises(
            rl.HypothesisError,
            match=r"^no theorem applies to this problem; the nearest is \w+, which requires .*; simulate the problem",
        ):
            predict(random_problem(scale=1.0), TIMES)

    def test_the_four_points_of_xor_are_not_near_to_a_table(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((40, 4))
        with pytest.raises(
            rl.HypothesisError,
            match=r"the nearest is limit, which requires even_inputs \(40 of 40 samples have no mirror image",
        ):
            predict(rl.Problem(rl.Dataset(x, x[:, 0] ** 2 + x[:, 1]), rl.Network(4, (5,))), TIMES)

    def test_only_theorems_speak_with_their_authority(self):
        forced = predict(random_problem(), TIMES, theorem="symmetric_data", force=True)
        assert forced.ended == "by the formulas of symmetric_data, without its authority: rank_one_start fails"
        table = rl.datasets.gaussian_teacher()
        net = rl.Network(table.inputs, (4,))
        twice = predict(rl.Problem(table, net), TIMES, theorem="two_neurons", force=True)
        assert twice.ended.endswith("without its authority: even_inputs, odd_target fail")
        six = rl.Problem(rl.datasets.six_points(delta=0.15), rl.Network(2, (10,)))
        told = predict(six, [0.0, 1.0])
        assert told.ended == "given by perturbation theory"
        assert "  found     0.4" in repr(told)
        assert "cost" not in repr(told)

    def test_unknown_theorems_are_listed(self):
        with pytest.raises(rl.InputError, match=r"theorem must be one of limit, time_course, .* found 'no_such'"):
            predict(aligned_problem(), TIMES, theorem="no_such")

    def test_force_needs_a_theorem(self):
        with pytest.raises(rl.InputError, match="force=True needs theorem="):
            predict(aligned_problem(), TIMES, force=True)

    @pytest.mark.parametrize("times", [[np.inf, 1.0], [-1.0, np.inf], [np.inf, np.inf], [-np.inf]])
    def test_infinity_may_only_come_last(self, times):
        with pytest.raises(rl.InputError, match="times must be not negative and strictly rising"):
            predict(aligned_problem(), times)

    def test_windows_name_their_times(self):
        with pytest.raises(rl.HypothesisError, match=f"{WITHIN_WINDOW} is required; found: it speaks of times from 0 to"):
            predict(random_problem(), [1e3], theorem="early_phase")


class TestPrediction:
    def test_prints_as_a_card(self):
        card = repr(predict(aligned_problem(white=True), TIMES))
        assert card.startswith("Prediction\n  problem")
        assert "theorem   time_course (Zhang, Saxe & Latham, arXiv:2406.12615, Corollary 14" in card
        assert "given by a theorem" in card
        assert "even part, rms up to" in repr(predict(random_problem(), TIMES, theorem="symmetric_data", force=True))
        assert "weights within" in repr(predict(random_problem(), TIMES / 100, theorem="early_phase"))

    @pytest.mark.parametrize(
        ("problem", "times", "options"),
        [
            (aligned_problem(), TIMES, {}),
            (random_problem(), TIMES, {"theorem": "symmetric_data", "force": True}),
            (random_problem(), TIMES / 100, {}),
            (random_problem(), [np.inf], {}),
        ],
    )
    def test_survives_saving_and_loading(self, tmp_path, problem, times, options):
        told = predict(problem, times, **options)
        again = rl.load(told.save(tmp_path / "prediction.nc"))
        assert type(again) is type(told)
        assert (again.theorem, again.source, again.forced) == (told.theorem, told.source, told.forced)
        assert again.findings == told.findings
        assert repr(again) == repr(told)
        np.testing.assert_array_equal(again.times, told.times)
        np.testing.assert_array_equal(again.loss, told.loss)
        for name in ("predicted_map", "direction", "neglected", "error_bound"):
            ours, theirs = getattr(told, name), getattr(again, name)
            assert (ours is None) == (theirs is None)
            if ours is not None:
                np.testing.assert_array_equal(ours, theirs)
        for ours, theirs in zip(told.weights, again.weights, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(told.outputs(), again.outputs())

    def test_outputs_come_from_the_small_network_weights_or_map(self):
        """Three theorems give three forms; each gives the outputs of the weights or the map it stands for."""
        x = np.random.default_rng(0).standard_normal((5, 4))
        problem = random_problem()
        small = predict(problem, TIMES)
        early = predict(problem, TIMES / 100)
        limit = predict(problem, [np.inf])
        for told in (small, early):
            expected = [problem.network.output(told.weights_at(k), x) for k in range(len(told))]
            np.testing.assert_allclose(told.outputs(x), expected, atol=1e-12)
        np.testing.assert_allclose(limit.outputs(x), limit.linear_map @ x.T)
        np.testing.assert_allclose(early.linear_map[-1], problem.network.linear_part(early.weights_at(-1)))

    def test_asking_for_weights_that_no_theorem_gives_is_refused(self):
        limit = predict(random_problem(), [np.inf])
        assert limit.weights == ()
        with pytest.raises(rl.InputError, match="weights_at needs predicted weights, but limit predicts"):
            limit.weights_at(0)
