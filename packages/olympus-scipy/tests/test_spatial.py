# SPDX-License-Identifier: Apache-2.0
"""Comparison of rotations and their interpolation with SciPy."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.spatial.transform as expected_transform

import olympus_random as random
from olympus_autodiff import jvp, vjp
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_ir.trees import pytrees
from olympus_scipy.spatial.transform import Rotation, Slerp
from olympus_testing import check_grads

GENERATOR = np.random.default_rng(0)
SHAPES = ((4,), (5, 4))
SEQUENCES = [
    "".join(letters)
    for length in (1, 2, 3)
    for letters in itertools.product("xyz", repeat=length)
    if all(first != second for first, second in itertools.pairwise(letters))
]


def pair(shape):
    quaternions = GENERATOR.normal(size=shape)
    theirs = expected_transform.Rotation.from_quat(quaternions)
    return Rotation.from_quat(quaternions), theirs


@pytest.fixture(autouse=True)
def doubles():
    with config.enable_x64(True):
        yield


@pytest.mark.parametrize("shape", SHAPES)
def test_conversions_equal_those_of_scipy(shape):
    ours, theirs = pair(shape)
    for name in ("as_matrix", "as_rotvec", "as_mrp", "as_quat", "magnitude"):
        np.testing.assert_allclose(getattr(ours, name)(), getattr(theirs, name)(), atol=1e-12)
    np.testing.assert_allclose(ours.as_quat(canonical=True), theirs.as_quat(canonical=True))
    np.testing.assert_allclose(
        ours.as_quat(scalar_first=True), np.roll(theirs.as_quat(), 1, axis=-1)
    )
    np.testing.assert_allclose(ours.as_rotvec(degrees=True), theirs.as_rotvec(degrees=True))
    matrix = theirs.as_matrix()
    for made in (
        Rotation.from_matrix(matrix),
        Rotation.from_rotvec(theirs.as_rotvec()),
        Rotation.from_rotvec(theirs.as_rotvec(degrees=True), degrees=True),
        Rotation.from_mrp(theirs.as_mrp()),
    ):
        np.testing.assert_allclose(made.as_matrix(), matrix, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sequence", SEQUENCES + [each.upper() for each in SEQUENCES])
def test_euler_angles_equal_those_of_scipy(sequence, shape):
    count = len(sequence)
    angles = GENERATOR.uniform(-1.4, 1.4, size=(*shape[:-1], count))
    if shape == (4,) and count == 1:
        angles = angles[0]
    ours = Rotation.from_euler(sequence, angles)
    theirs = expected_transform.Rotation.from_euler(sequence, angles)
    assert ours.quat.shape == theirs.as_quat().shape
    np.testing.assert_allclose(ours.as_matrix(), theirs.as_matrix(), atol=1e-12)
    if count < 3:
        return
    ours, theirs = pair(shape)
    np.testing.assert_allclose(ours.as_euler(sequence), theirs.as_euler(sequence), atol=1e-9)
    np.testing.assert_allclose(
        ours.as_euler(sequence, degrees=True), theirs.as_euler(sequence, degrees=True), atol=1e-9
    )


@pytest.mark.parametrize("sequence", [each for each in SEQUENCES if len(each) == 3])
def test_gimbal_lock_is_resolved_as_in_scipy(sequence):
    middle = 0.0 if sequence[0] == sequence[2] else np.pi / 2
    for each in (sequence, sequence.upper()):
        locked = expected_transform.Rotation.from_euler(each, [0.3, middle, 0.4])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = locked.as_euler(each)
        found = Rotation(locked.as_quat()).as_euler(each)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_compositions_equal_those_of_scipy(shape):
    ours, theirs = pair(shape)
    other, their_other = pair(shape)
    vectors = GENERATOR.normal(size=(5, 3))
    for inverse in (False, True):
        np.testing.assert_allclose(ours.apply(vectors, inverse), theirs.apply(vectors, inverse))
    np.testing.assert_allclose(ours.apply(vectors[0]), theirs.apply(vectors[0]))
    np.testing.assert_allclose((ours * other).as_matrix(), (theirs * their_other).as_matrix())
    np.testing.assert_allclose(ours.inv().as_matrix(), theirs.inv().as_matrix())


def test_rotations_are_sequences():
    ours, theirs = pair((5, 4))
    assert len(ours) == 5
    assert ours[1].single
    assert not ours[1:3].single
    np.testing.assert_allclose(ours[1].as_quat(), theirs[1].as_quat())
    assert len(Rotation.concatenate([ours, ours[0]])) == 6
    weights = GENERATOR.uniform(size=5)
    np.testing.assert_allclose(ours.mean().as_matrix(), theirs.mean().as_matrix())
    np.testing.assert_allclose(ours.mean(weights).as_matrix(), theirs.mean(weights).as_matrix())
    np.testing.assert_array_equal(Rotation.identity(2).as_matrix(), [np.eye(3)] * 2)
    drawn = Rotation.random(random.key(0), 2000)
    np.testing.assert_allclose(np.mean(drawn.as_matrix(), axis=0), 0, atol=0.06)
    np.testing.assert_allclose(np.linalg.norm(drawn.quat, axis=-1), 1)


def test_small_rotations_keep_their_digits():
    vector = np.array([1e-9, -2e-9, 0.0])
    np.testing.assert_allclose(Rotation.from_rotvec(vector).as_rotvec(), vector, rtol=1e-12)
    for size in (0.0, 1e-4, 2e-3, 1.0):
        check_grads(
            lambda v: Rotation.from_rotvec(v).as_rotvec(),
            (size * np.array([0.6, 0.0, 0.8]),),
            order=1,
            jvp=jvp,
            vjp=vjp,
        )


def test_slerp_equals_that_of_scipy():
    ours, theirs = pair((5, 4))
    times = np.sort(GENERATOR.uniform(size=5))
    wanted = GENERATOR.uniform(times[0], times[-1], 7)
    found, expected = Slerp.init(times, ours), expected_transform.Slerp(times, theirs)
    np.testing.assert_allclose(found(wanted).as_matrix(), expected(wanted).as_matrix())
    np.testing.assert_allclose(found(wanted[0]).as_matrix(), expected(wanted[0]).as_matrix())
    np.testing.assert_allclose(found(times).as_matrix(), theirs.as_matrix(), atol=1e-12)
    listed = Slerp.init(list(times), ours)(list(wanted))
    np.testing.assert_allclose(listed.as_matrix(), expected(wanted).as_matrix())


def test_rotations_are_pytrees():
    ours, theirs = pair((5, 4))
    assert len(pytrees.tree_leaves(ours)) == 1
    compiled = jit(lambda rotation, v: (rotation * rotation).apply(v))
    vectors = GENERATOR.normal(size=(5, 3))
    np.testing.assert_allclose(compiled(ours, vectors), (theirs * theirs).apply(vectors))


def test_invalid_input_raises():
    several, one = pair((5, 4))[0], pair((4,))[0]
    with pytest.raises(ValueError, match="consecutive axes to be different"):
        Rotation.from_euler("xx", np.ones(2))
    with pytest.raises(ValueError, match="all small or all capital"):
        Rotation.from_euler("xY", np.ones(2))
    with pytest.raises(ValueError, match="one to three letters"):
        Rotation.from_euler("xyzx", np.ones(4))
    with pytest.raises(ValueError, match="Expected angles to have shape"):
        Rotation.from_euler("xyz", np.ones(2))
    with pytest.raises(ValueError, match="Expected 3 axes"):
        one.as_euler("xy")
    with pytest.raises(ValueError, match="has the size 4"):
        Rotation.from_quat(np.ones(3))
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        Rotation.from_matrix(np.ones((2, 3)))
    with pytest.raises(TypeError, match=r"has no len\(\)"):
        len(one)
    with pytest.raises(TypeError, match="not subscriptable"):
        one[0]
    with pytest.raises(TypeError, match="unsupported operand"):
        one * 3
    with pytest.raises(ValueError, match="`weights`"):
        several.mean(np.ones(2))
    with pytest.raises(ValueError, match="at least 2 rotations"):
        Slerp.init(np.zeros(1), one)
    with pytest.raises(ValueError, match="number of timestamps"):
        Slerp.init(np.zeros(2), several)
    with pytest.raises(TypeError, match="must be a `Rotation`"):
        Slerp.init(np.zeros(2), np.ones((2, 4)))
    with pytest.raises(ValueError, match="at most 1-dimensional"):
        Slerp.init(np.arange(5.0), several)(np.ones((2, 2)))


def test_flags_may_be_traced():
    quat = np.array([0.1, 0.4, 0.2, 0.9], np.float32)
    expected = expected_transform.Rotation.from_quat(quat)

    @jit
    def computed(flag):
        rotation = Rotation.from_quat(quat)
        turned = Rotation.from_euler("xyz", quat[:3], flag)
        return (
            rotation.as_rotvec(flag),
            rotation.as_euler("xyz", flag),
            rotation.apply(quat[:3], flag),
            rotation.as_quat(flag, flag),
            turned.as_rotvec(),
        )

    for flag in (False, True):
        wanted = (
            expected.as_rotvec(flag),
            expected.as_euler("xyz", flag),
            expected.apply(quat[:3], flag),
            expected.as_quat(canonical=flag, scalar_first=flag),
            expected_transform.Rotation.from_euler("xyz", quat[:3], flag).as_rotvec(),
        )
        for found, each in zip(computed(flag), wanted, strict=True):
            np.testing.assert_allclose(found, each, rtol=1e-5, atol=1e-6)


def test_flags_of_several_rotations():
    quat = np.array([[0.1, 0.4, 0.2, 0.9], [0.3, 0.1, 0.2, 0.9]], np.float32)
    expected = expected_transform.Rotation.from_quat(quat)
    found = Rotation.from_quat(quat).as_rotvec(np.array([True, False]))
    wanted = [expected[0].as_rotvec(True), expected[1].as_rotvec()]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
