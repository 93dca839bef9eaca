"""Neurons whose outgoing weight changes sign while kinks hold them, and velocities at kinks that are rounding."""

import numpy as np
import pytest

import rectilinear as rl
from compiled_parts import from_python
from rectilinear.flow.field.sample_lines import SampleLines
from rectilinear.flow.kinks import contact, settling, single_neuron


def test_a_neuron_whose_outgoing_weight_turns_on_two_kinks_leaves_as_descents_may_and_says_so():
    """Two holds come to repel at once: which had begun first does not count, and the run says that there was a choice."""
    data, net = rl.datasets.gaussian_teacher(), rl.Network(inputs=10, widths=(20,))
    start = rl.simulate(rl.Problem(data, net, net.init(scale=1e-3, seed=3)), times=[0.0, 3.5], rtol=1e-8).final
    problem, who, kinks = rl.Problem(data, net, start), 13, [9, 27]  # it turns at t = 3.559
    runs = [rl.simulate(problem, times=[0.0, 0.2], **how) for how in ({}, {"rtol": 1e-9}, {"method": "kinks"})]
    lines = SampleLines(problem)
    for run in runs:
        assert run.weights[1][0, 0, who] < 0.0 < run.weights[1][1, 0, who]
        left = (run.events.neuron == who) & (run.events.kind == rl.Kind.RELEASE)
        assert sorted(run.events.line[left]) == kinks
        assert run.events.choices > 0
        assert all(np.abs(w - v).max() < 1e-5 * np.abs(v).max() for w, v in zip(run.final, runs[1].final, strict=True))
    left_to = np.sign(lines.into(runs[0].final[0])[who] @ lines.normals[kinks].T)
    votes = 0
    for steps in range(500, 2000, 75):  # of many lengths, as each goes its own way
        w = lines.into(rl.descend(problem, 0.2 / steps, steps, record_every=steps).final[0])[who]
        votes += np.array_equal(np.sign(w @ lines.normals[kinks].T), left_to)
    assert votes >= 8  # of 20 in up to four ways, two of which are nearly as frequent: it is one of these


def frequent_side(gram, below, pushes, descents, rng):
    """The sides that most descents are left on, which begin anywhere beside kinks that attract until s = 0 and repel from then on."""
    size, half = len(below), 100
    z = rng.uniform(-1.0, 1.0, (descents, size)) @ gram
    begun = rng.random((descents, 1))
    for step in range(2 * half):
        z += ((step + begun) / half - 1.0) * (below + ((z > 0.0) * pushes) @ gram)
    ways, counts = np.unique(np.sign(z).astype(int), axis=0, return_counts=True)
    return ways[np.argmax(counts)], np.sort(counts)[::-1] / descents


@pytest.mark.parametrize("seed", range(12))
def test_the_vote_is_that_of_descents_that_begin_anywhere(seed):
    """Not of those that begin where the kinks meet, whose ways are a matter of how many steps they take."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((2 + seed % 2, 6))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    gram, pushes = normals @ normals.T, rng.uniform(0.1, 1.0, len(normals))
    below = -gram @ (pushes * rng.uniform(0.2, 0.8, len(normals)))
    most, shares = frequent_side(gram, below, pushes, 1000, rng)
    if len(shares) == 1 or shares[0] > shares[1] + 0.1:
        found = contact.settle_as_descent(gram, below, pushes, np.zeros(len(normals), np.int8), 1e-12)
        assert np.array_equal(found[0], most)


@pytest.mark.parametrize("seed", range(8))
def test_kinks_that_come_to_repel_together_are_left_whatever_their_order(seed):
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((3, 5))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    gram, pushes = normals @ normals.T, rng.uniform(0.1, 1.0, 3)
    below = -gram @ (pushes * rng.uniform(0.1, 0.9, 3))  # held by these shares until now
    outcomes = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 0, 2]):
        found = contact.settle_as_descent(
            gram[np.ix_(order, order)], below[order], pushes[order], np.zeros(3, np.int8), 1e-12
        )
        outcomes.append(found[0][np.argsort(order)])
        assert (found[0] * found[1] > 0.0).all()  # away from each
    assert np.array_equal(outcomes[0], outcomes[1])
    assert np.array_equal(outcomes[0], outcomes[2])


def test_kinks_that_are_met_at_one_point_are_passed_in_the_order_of_most_descents():
    """Over the last one lead most descents; those that meet the others first are turned back from it, and both may be."""
    gram = np.array([
        [1.0, 0.75, 0.0, 0.26726124191242434, 0.408248290463863],
        [0.75, 1.0, -0.35355339059327373, -0.4008918628686365, -0.20412414523193154],
        [0.0, -0.35355339059327373, 1.0, 0.7559289460184544, 0.0],
        [0.26726124191242434, -0.4008918628686365, 0.7559289460184544, 1.0, 0.6546536707079772],
        [0.408248290463863, -0.20412414523193154, 0.0, 0.6546536707079772, 1.0],
    ])  # fmt: skip
    below = np.array(
        [-0.0014300385035588, 0.00741357208907812, -0.01849727655554035, -0.0164455307853328, -0.00376214802527236]
    )
    pushes = np.array(
        [-0.01183934478338496, -0.0143065631125785, 0.00330403335414272, 0.01160561846192279, 0.00357841104845399]
    )
    came_from = np.array([0, 0, 1, 1, -1], np.int8)
    outcome, _, _, might_turn_back, _ = contact.settle_as_descent(gram, below, pushes, came_from, 1e-14)
    assert might_turn_back == 4
    rng = np.random.default_rng(0)
    coming = from_python(contact.arriving)(gram, below, pushes, came_from)
    z = np.abs(coming).max() * rng.uniform(-1.0, 1.0, (1000, 5)) @ gram - (300 + rng.random((1000, 1))) * coming
    for _ in range(900):
        z += below + ((z > 0.0) * pushes) @ gram
    ways, votes = np.unique(np.sign(z[:, [0, 2, 3, 4]]).astype(int), axis=0, return_counts=True)
    assert len(ways) == 2
    assert votes.min() > 20
    assert ways[np.argmax(votes)].tolist() == outcome[[0, 2, 3, 4]].tolist() == [-1, -1, -1, 1]


def test_a_kink_that_others_just_turn_a_neuron_back_from_is_crossed_as_by_most_descents():
    """Four kinks of integer data whose normals span a plane: beyond the point where they meet, ways lead out on either side of the last."""
    normals = np.array([[0.0, -1.0, 0.0, 1.0], [1.0, -1.0, 1.0, 1.0], [2.0, 1.0, 2.0, -1.0], [-1.0, -4.0, -1.0, 4.0]])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    gram, below = normals @ normals.T, normals @ np.array([-4.49, 1.124, -4.49, -1.124])
    pushes, came_from = np.array([-1.0248, 2.1402, -1.7353, 1.3096]), np.array([0, 1, 1, -1], np.int8)
    coming = from_python(contact.arriving)(gram, below, pushes, came_from)
    assert coming[3] > 0.0 > below[3] > -0.01  # it comes to it, and over the others would just move away
    outcome, _, _, parting, push = contact.settle_as_descent(gram, below, pushes, came_from, 1e-14)
    assert parting == 3
    assert push != 0.0  # a choice, and told
    rng = np.random.default_rng(0)
    z = np.abs(coming).max() * rng.uniform(-1.0, 1.0, (1000, 4)) @ gram - (300 + rng.random((1000, 1))) * coming
    for _ in range(900):
        z += below + ((z > 0.0) * pushes) @ gram
    ways, votes = np.unique(np.sign(z).astype(int), axis=0, return_counts=True)
    assert ways.tolist() == [[-1, -1, -1, -1], [-1, -1, -1, 1]]
    assert votes[1] > 0.9 * votes.sum()
    assert outcome.tolist() == ways[1].tolist()


@pytest.mark.parametrize(("drive", "later", "bound"), [(0.5, 0.6, 1.1), (0.2, -0.1, 3.0)])
def test_a_neuron_that_is_kept_on_a_kink_rests_on_the_side_by_which_it_will_leave(drive, later, bound):
    """Two kinks hold it on a third that repels, whichever side of that counts, until they let it go by one: descents go, and so must it."""
    normals = np.array([[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)], [np.sqrt(0.5), -np.sqrt(0.5)]])
    gram, pushes = normals @ normals.T, np.array([1.0, -bound, -bound])
    z = np.random.default_rng(0).uniform(-2.0, 2.0, (1000, 3)) @ gram
    for acting in np.linspace(drive, later, 2000):
        z += acting * normals[:, 0] + ((z > 0.0) * pushes) @ gram
    leaves_to = 1 if later > drive else -1
    assert (leaves_to * z[:, 0] > 5.0).all()
    for came_from in (-1, 1):
        sides = np.array([came_from, 0, 0], np.int8)
        kept = contact.settle_as_descent(gram, drive * normals[:, 0], pushes, sides, 1e-14)[0]
        assert kept.tolist() == [leaves_to, 0, 0]
        left = contact.settle_as_descent(gram, later * normals[:, 0], pushes, kept, 1e-14)[0]
        assert left.tolist() == [leaves_to] * 3


@pytest.mark.parametrize(("below", "push"), [(2e-14, -8e-14), (0.3, -0.300_000_000_000_01), (0.3, 0.2)])
def test_velocities_at_a_kink_that_are_rounding_are_listed_as_zero(below, push):
    """A neuron crosses where it is not pushed back by more than rounding: its certificate does not say otherwise."""
    normals, jumps = np.array([[1.0, 0.0]]), np.array([[push, 0.0]])
    step = single_neuron.KnownStep(normals, jumps, np.ones((1, 2), bool), np.empty(0))
    drive = np.array([[below, 0.0], [0.0, 0.0]])
    neuron = single_neuron.Neuron(
        np.array([[0.0, 1.0]]), np.ones(1), drive, np.zeros((2, 2)), np.array([-1], np.int8), np.zeros(4, np.intp),
        np.zeros((4, 2)), np.zeros((3, 3)),
    )  # fmt: skip
    log = single_neuron.Log(np.zeros((4, single_neuron.EVENT_FIELDS + 2)), np.zeros(1, np.intp))
    assert from_python(settling.meet)(step, neuron, log, single_neuron.Moment(0.0, 1.0, 1e-12), 0) == 0
    _, _, line, kind, under, over, multiplier, _ = log.rows[0, : single_neuron.EVENT_FIELDS]
    event = rl.Events.of_log([(0.0, 0, int(line), rl.Kind(int(kind)), under, over, multiplier)])
    assert event.count(rl.Kind.CROSS) == 1
    assert not event.doubtful.any()


def test_lines_hold_together_whatever_is_hardly_pushed_in_from_one_side():
    """Below both lines samples nearly cancel, and push by 1e-12 of what is above: sent down, the neuron would come back, for ever."""
    gram, below, pushes = np.array([[1.0, 0.3], [0.3, 1.0]]), np.array([1.2e-12, 3e-13]), np.array([-0.07, -0.04])
    outcome = contact.settle_as_descent(gram, below, pushes, np.array([0, 1], np.int8), 1e-14)[0]
    assert outcome[0] == 0
