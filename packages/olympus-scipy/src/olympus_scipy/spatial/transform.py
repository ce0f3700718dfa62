# SPDX-License-Identifier: Apache-2.0
"""Rotations in three dimensions, as unit quaternions, and interpolation between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as onp
import olympus_random as random
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_numpy.core.promotion import check_arraylike

from . import quaternions

__all__ = ["Rotation", "Slerp"]


def _floats(name: str, value: Any, size: int | None = None) -> Any:
    """Returns a floating array whose last axis has a given size."""
    check_arraylike(f"Rotation.{name}", value)
    value = onp.asarray(value)
    if size is not None and value.shape[-1:] != (size,):
        raise ValueError(
            f"Rotation.{name} takes arrays whose last axis has the size {size}, got the shape "
            f"{value.shape}."
        )
    return value.astype(dtypes.to_inexact_dtype(value.dtype))


def _chosen(flag: Any, if_true: Callable[[], Any], if_false: Callable[[], Any]) -> Any:
    """Returns the vectors of ``if_true()`` where ``flag`` is true, and of ``if_false()`` elsewhere.

    The flag may be traced, or an array with one flag for each vector.
    """
    if not isinstance(flag, Array | np.ndarray):
        return if_true() if flag else if_false()
    chosen = if_true()
    if np.shape(flag) not in ((), np.shape(chosen)[:-1]):
        raise ShapeError(
            "a flag must be one boolean, or one for each of the rotations of shape "
            f"{np.shape(chosen)[:-1]}; got an array of shape {np.shape(flag)}"
        )
    return onp.where(onp.expand_dims(flag, -1) if np.ndim(flag) else flag, chosen, if_false())


@boundary_class
class Rotation(NamedTuple):
    """One rotation in three dimensions, or a sequence of them.

    Attributes:
      quat: unit quaternions, real part last, of shape (4,) or (n, 4).

    Example:
      >>> import olympus_numpy as jnp
      >>> Rotation.from_euler("z", 90.0, degrees=True).apply(jnp.array([1.0, 0.0, 0.0])).round(3)
      Array([0., 1., 0.], dtype=float32)
    """

    quat: Array

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Joins rotations into one sequence."""
        return cls(onp.concatenate([onp.atleast_2d(rotation.quat) for rotation in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Returns the rotations with given Euler angles.

        Args:
          seq: up to three axes: ``"x"``, ``"y"``, ``"z"`` for extrinsic, ``"X"``, ``"Y"``, ``"Z"``
            for intrinsic rotations.
          angles: the angles, of shape (..., len(seq)).
          degrees: whether the angles are in degrees.

        Returns:
          A `Rotation`.

        Raises:
          ValueError: ``seq`` is invalid, or ``angles`` does not match it.
        """
        axes, extrinsic = _axes(seq)
        angles = _floats("from_euler", angles)
        angles = _chosen(degrees, lambda: onp.deg2rad(angles), lambda: angles)
        count = len(axes)
        if count == 1:
            if angles.ndim > 2 or (angles.ndim == 2 and angles.shape[-1] != 1):
                raise ValueError(
                    f"Rotation.from_euler: expected one angle for each rotation about {seq!r}, got "
                    f"shape {angles.shape}."
                )
            # With one axis, a vector holds one angle for each rotation.
            angles = angles[:, None] if angles.ndim == 1 else angles
            angles = angles[None] if not angles.ndim else angles
        elif angles.shape[-1:] != (count,):
            raise ValueError(
                f"Expected angles to have shape (..., {count}) for seq {seq!r}, got {angles.shape}."
            )
        total: Any = None
        for position, axis in enumerate(axes):
            turn = quaternions.about_axis(axis, angles[..., position])
            if total is None:
                total = turn
            elif extrinsic:
                total = quaternions.product(turn, total)
            else:
                total = quaternions.product(total, turn)
        return cls(total)

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Returns the rotations of orthogonal matrices of shape (3, 3) or (n, 3, 3).

        Raises:
          ValueError: the array has neither of these shapes.
        """
        matrix = _floats("from_matrix", matrix, 3)
        if matrix.shape[-2:] != (3, 3):
            raise ValueError(f"Expected `matrix` to have shape (3, 3), got {matrix.shape}.")
        return cls(quaternions.of_matrix(matrix))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Returns the rotations of modified Rodrigues parameters (axis times tan(angle / 4))."""
        mrp = _floats("from_mrp", mrp, 3)
        square = onp.sum(mrp * mrp, axis=-1, keepdims=True)
        return cls(onp.concatenate([2.0 * mrp, 1.0 - square], axis=-1) / (1.0 + square))

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """Normalizes quaternions, real part last, and returns their rotations."""
        return cls(quaternions.normalized(_floats("from_quat", quat, 4)))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Returns the rotations of rotation vectors (axis times angle)."""
        rotvec = _floats("from_rotvec", rotvec, 3)
        vector = _chosen(degrees, lambda: onp.deg2rad(rotvec), lambda: rotvec)
        return cls(quaternions.of_vector(vector))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """Returns the identity, or a sequence of ``num`` identities."""
        unit = onp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype)
        return cls(unit if num is None else onp.tile(unit, (num, 1)))

    @classmethod
    def random(cls, random_key: Array, num: int | None = None) -> Rotation:
        """Draws a uniformly distributed rotation, or a sequence of ``num``."""
        shape = (4,) if num is None else (num, 4)
        return cls(quaternions.normalized(random.normal(random_key, shape)))

    def __getitem__(self, indexer: Any) -> Rotation:  # type: ignore[override]
        """Returns part of a sequence of rotations.

        Raises:
          TypeError: this is a single rotation.
        """
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """Returns the number of rotations.

        Raises:
          TypeError: this is a single rotation.
        """
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __mul__(self, other: Any) -> Rotation:  # type: ignore[override]
        """Returns the composition, the rotation by ``other`` followed by this rotation."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(quaternions.product(self.quat, other.quat))

    def apply(self, vectors: Any, inverse: bool = False) -> Array:
        """Rotates vectors of shape (3,) or (n, 3): one vector for each rotation, or one for all.

        Args:
          vectors: the vectors.
          inverse: whether to apply the inverse rotation.

        Returns:
          A floating array of the broadcast shape.
        """
        vectors = _floats("apply", vectors, 3)
        matrix = self.as_matrix()
        return _chosen(
            inverse,
            lambda: onp.einsum("...kj,...k->...j", matrix, vectors),
            lambda: onp.einsum("...jk,...k->...j", matrix, vectors),
        )

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Returns the Euler angles about three axes, of shape (3,) or (n, 3); see `from_euler`.

        Raises:
          ValueError: ``seq`` does not name three axes.
        """
        axes, extrinsic = _axes(seq)
        if len(axes) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        angles = quaternions.euler_angles(self.quat, axes, extrinsic)
        return _chosen(degrees, lambda: onp.rad2deg(angles), lambda: angles)

    def as_matrix(self) -> Array:
        """Returns the rotation matrices, of shape (3, 3) or (n, 3, 3)."""
        return quaternions.matrix(self.quat)

    def as_mrp(self) -> Array:
        """Returns the modified Rodrigues parameters, of length at most one."""
        sign = onp.where(self.quat[..., 3:] < 0, -1.0, 1.0).astype(self.quat.dtype)
        return self.quat[..., :3] * sign / (1.0 + onp.abs(self.quat[..., 3:]))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Returns the quaternions.

        Args:
          canonical: whether to choose the sign so that the first nonzero part, real part first, is
            positive.
          scalar_first: whether the real part comes first.

        Returns:
          A floating array of shape (4,) or (n, 4).
        """
        quat = _chosen(canonical, lambda: quaternions.canonical(self.quat), lambda: self.quat)
        return _chosen(scalar_first, lambda: onp.roll(quat, 1, axis=-1), lambda: quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Returns the rotation vectors: the axis times the angle, an angle of at most pi."""
        vector = quaternions.vector(self.quat)
        return _chosen(degrees, lambda: onp.rad2deg(vector), lambda: vector)

    def inv(self) -> Rotation:
        """Returns the inverse rotations."""
        signs = np.array([-1, -1, -1, 1], self.quat.dtype)
        return Rotation(self.quat * lax.broadcast_to_rank(signs, self.quat.ndim))

    def magnitude(self) -> Array:
        """Returns the rotation angles, from 0 to pi."""
        size = onp.linalg.norm(self.quat[..., :3], axis=-1)
        return 2.0 * lax.atan2(size, onp.abs(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> Rotation:
        """Returns the mean rotation, which minimizes the sum of squared chordal distances.

        Args:
          weights: nonnegative weights, of shape (n,); equal if None.

        Returns:
          A single `Rotation`.

        Raises:
          ValueError: the weights have a wrong shape.
        """
        quat = onp.atleast_2d(self.quat)
        if weights is None:
            weights = onp.ones(quat.shape[0], quat.dtype)
        weights = onp.asarray(weights, quat.dtype)
        if weights.shape != quat.shape[:1]:
            raise ValueError(
                f"Expected `weights` to have the shape {quat.shape[:1]}, got {weights.shape}."
            )
        moments = onp.einsum("ni,nj,n->ij", quat, quat, weights)
        return Rotation(onp.linalg.eigh(moments)[1][:, -1])

    @property
    def single(self) -> bool:
        """Returns whether this is a single rotation, not a sequence."""
        return self.quat.ndim == 1


def _axes(seq: str) -> tuple[list[int], bool]:
    """Returns the indices of the axes in ``seq``, and whether the rotations are extrinsic.

    Raises:
      ValueError: a letter is unknown or follows itself, or upper and lower case are mixed.
    """
    if not 1 <= len(seq) <= 3:
        raise ValueError(f"Expected one to three letters for the axes `seq`, got {seq!r}.")
    extrinsic = re.fullmatch("[xyz]{1,3}", seq) is not None
    if not extrinsic and re.fullmatch("[XYZ]{1,3}", seq) is None:
        raise ValueError(
            "Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got "
            f"{seq!r}; the letters are all small or all capital."
        )
    if any(first == second for first, second in pairwise(seq)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq}")
    return ["xyz".index(letter) for letter in seq.lower()], extrinsic


@boundary_class
class Slerp(NamedTuple):
    """Spherical linear interpolation of rotations, with piecewise constant angular velocity.

    Attributes:
      times: the times of the given rotations.
      timedelta: the lengths of the intervals.
      rotations: the rotations at the starts of the intervals.
      rotvecs: the rotation vectors across the intervals.

    Example:
      >>> import olympus_numpy as jnp
      >>> key_frames = Rotation.from_euler("z", jnp.array([0.0, 1.0]))
      >>> Slerp.init(jnp.array([0.0, 2.0]), key_frames)(jnp.array(1.0)).magnitude().round(3)
      Array(0.5, dtype=float32)
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """Makes an interpolator of rotations.

        Args:
          times: the increasing times, of shape (n,).
          rotations: a sequence of n >= 2 rotations.

        Returns:
          A `Slerp`.

        Raises:
          TypeError: ``rotations`` is not a `Rotation`.
          ValueError: there are fewer than two rotations, or their number differs from that of
            times.
        """
        if not isinstance(rotations, Rotation):
            raise TypeError(f"`rotations` must be a `Rotation` instance, got {type(rotations)}.")
        if rotations.single or len(rotations) == 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        times = onp.asarray(times, rotations.quat.dtype)
        if times.shape != (len(rotations),):
            raise ValueError(
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and times of shape {times.shape}."
            )
        first, second = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, onp.diff(times), first, (first.inv() * second).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """Returns the rotation at a time, or the rotations at a vector of times.

        Raises:
          ValueError: ``times`` has more than one dimension.
        """
        times = onp.asarray(times, self.times.dtype)
        if times.ndim > 1:
            raise ValueError(f"`times` must be at most 1-dimensional, got the shape {times.shape}.")
        last = self.times.shape[0] - 2
        position = onp.clip(onp.searchsorted(self.times, times, side="right") - 1, 0, last)
        share = (times - self.times[position]) / self.timedelta[position]
        turn = Rotation.from_rotvec(self.rotvecs[position] * share[..., None])
        return self.rotations[position] * turn
