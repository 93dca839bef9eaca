"""What counts as zero, as equal or as past: every such threshold of this folder, with what it is a share of and why.

None of them is a matter of accuracy, which `rtol` alone decides. Each lies well above the rounding of its quantity and well below
what a run can tell apart. Two sorts of numbers are elsewhere, beside what uses them: budgets of work, and what compiled kernels
compare with.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)
TINY = 1e-300  # instead of zero, where something is divided by it: what comes out may still be multiplied

# Heights over kinks. Two layers: |n.w| as a share of the neuron's size |(w, a)|, n of length 1.
ON_KINK_HEIGHT = 1e-12  # as near as this a neuron is on the kink, up to rounding
PAST_KINK_HEIGHT = 1e-13  # as far as this it is past it: landing on an event must be able to do better
# Three layers and more: |z| as a share of what it would be if nothing cancelled, which is larger than |z| and so is its rounding.
ON_KINK_HEIGHT_DEEP = 1e-13
PAST_KINK_HEIGHT_DEEP = 1e-14

# Velocities towards kinks, as a share of the largest that the pulls, or the field, could give.
NO_KINK_SPEED = 1e-13  # below, the sign of a velocity is rounding: it does not say "away"
NO_KINK_SPEED_DEEP = 1e-12  # sums over several layers round more
NO_JUMP = 1e-13  # a jump of the drive, as a share of the largest possible: crossing such a kink changes nothing

# Multipliers lambda in [0, 1] of holds.
LEFT_BOUNDS = 1e-10  # how far beyond [0, 1] rounding may put one
NEAR_BOUND = 1e-6  # one that leaves comes this near its bound first; a hold that ends elsewhere ends because its kink repels
HOLD_BAND = 1e-13  # lambda D as a share of |pull| |x|: what ends a hold falls below zero by more than this

# Directions.
# |w| as a share of the neuron's size, heights and speeds relative to the largest: w = 0 up to what steps leave.
AT_ORIGIN = 1e-9
NEAR_ORIGIN = 1e-2  # the same for a neuron that is on kinks which only meet at w = 0: what loose steps leave
INDEPENDENT_NORMALS = 1e-10  # singular values of normals, as a share of the largest: lines that agree to ten digits are one
NEARLY_HELD_NORMAL = 1e-3  # length of a unit normal off the held ones: below, heights over it lose digits that steps have
INDEPENDENT_NORMALS_GRAM = 1e-12  # the same for their products with each other, to be inverted
INDEPENDENT_NORMALS_DEEP = 1e-6  # the same in the space of all weights
ALL_AXES = 1e-10  # eigenvalues of x^T x above this share of the largest are not rounding
# Distance of unit vectors: nearer ones make one kink, as their distance would be lost in the weights' rounding.
SAME_KINK = 1e-9
SAME_SAMPLE = 16 * EPS  # of a sample's length: a change that is rounding, and no other

# Times, as a share of the time reached or of the step.
SMALLEST_STEP = 1e-14  # of the time reached: no progress is made by such steps
SAME_TIME = 4e-16  # of the time reached: two neighbouring numbers
SAME_SHARE = 1e-15  # of the step
SAME_TIME_DEEP = 1e-10  # of the step: events nearer than this are one

# Sizes of neurons.
LEANING = 1e-30  # of its size: the outgoing weight of a neuron that is to have a sign and nothing else
BALANCED = 8 * EPS  # | |w|^2 - a^2 | as a share of their sum: zero up to rounding
VANISHED = 1e-140  # a size whose square is hardly a number: the neuron stays at zero
ROUNDED_SUM = 4 * EPS  # of the terms of a sum: what rounding leaves of it
AT_REST = 1e-12  # relative change of every neuron over as long as the run has taken: the flow has ended

# The range of numbers.
LARGEST_PRODUCT = 1e60  # of inputs and labels, and one over the smallest: its fifth power still is a number
STRONGEST_PULL = 1e100  # times the square of an input: its cube is still a number
