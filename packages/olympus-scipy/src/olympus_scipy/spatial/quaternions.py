# SPDX-License-Identifier: Apache-2.0
"""Unit quaternions as arrays, real part last: products and conversions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types import dtypes

__all__ = [
    "about_axis",
    "canonical",
    "euler_angles",
    "matrix",
    "normalized",
    "of_matrix",
    "of_vector",
    "product",
    "vector",
]


def normalized(q: Any) -> Any:
    return q / onp.linalg.norm(q, axis=-1, keepdims=True)


def product(p: Any, q: Any) -> Any:
    """Returns the product, which is the rotation by q followed by the rotation by p."""
    u, a, v, b = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    u, v = onp.broadcast_arrays(u, v)
    imaginary = a * v + b * u + onp.cross(u, v)
    real = a * b - onp.sum(u * v, axis=-1, keepdims=True)
    return onp.concatenate([imaginary, real], axis=-1)


def canonical(q: Any) -> Any:
    """Returns q or -q, whichever has a positive first nonzero part (real part first)."""
    sign = onp.zeros_like(q[..., 3:])
    for position in (3, 0, 1, 2):
        part = q[..., position : position + 1]
        sign = onp.where(sign == 0, onp.sign(part), sign)
    return q * onp.where(sign == 0, 1.0, sign).astype(q.dtype)


def about_axis(axis: int, angle: Any) -> Any:
    """Returns the rotation by an angle about a coordinate axis."""
    half, zero = 0.5 * angle, onp.zeros_like(angle)
    parts = [zero, zero, zero, lax.cos(half)]
    parts[axis] = lax.sin(half)
    return onp.stack(parts, axis=-1)


def of_vector(v: Any) -> Any:
    """Returns the quaternion of a rotation vector."""
    square = onp.sum(v * v, axis=-1, keepdims=True)
    small = square < 1e-6
    angle = lax.sqrt(onp.where(small, 1.0, square))
    # Near zero, the scale is the series of sin(angle / 2) / angle.
    scale = onp.where(
        small, 0.5 - square / 48.0 + square * square / 3840.0, lax.sin(0.5 * angle) / angle
    )
    real = onp.where(small, 1.0 - square / 8.0 + square * square / 384.0, lax.cos(0.5 * angle))
    return onp.concatenate([v * scale, real], axis=-1)


def vector(q: Any) -> Any:
    """Returns the rotation vector of a quaternion."""
    q = q * onp.where(q[..., 3:] < 0, -1.0, 1.0).astype(q.dtype)
    imaginary, real = q[..., :3], q[..., 3:]
    square = onp.sum(imaginary * imaginary, axis=-1, keepdims=True)
    small = square < 1e-6
    size = lax.sqrt(onp.where(small, 1.0, square))
    angle = 2.0 * lax.atan2(size, real)
    # Near zero, the scale is the series of 2 asin(size) / size.
    scale = onp.where(small, 2.0 + square / 3.0 + 0.15 * square * square, angle / size)
    return imaginary * scale


def matrix(q: Any) -> Any:
    """Returns the rotation matrix of a quaternion."""
    x, y, z, w = (q[..., position] for position in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return onp.stack([onp.stack(row, axis=-1) for row in rows], axis=-2)


def of_matrix(m: Any) -> Any:
    """Returns the quaternion of a rotation matrix.

    The matrix 4 q q^T is linear in m. The result is a normalized column of this matrix: for
    accuracy, the column of the largest part of q. The method is from Shepperd: Quaternion from
    rotation matrix. J. Guidance and Control 1 (1978).
    """
    diagonal = onp.diagonal(m, axis1=-2, axis2=-1)
    trace = onp.sum(diagonal, axis=-1)
    columns = []
    for i in range(3):
        parts: list[Any] = [None] * 4
        j, k = (i + 1) % 3, (i + 2) % 3
        parts[i] = 1.0 - trace + 2.0 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        columns.append(onp.stack(parts, axis=-1))
    twist = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
    columns.append(onp.stack([*twist, 1.0 + trace], axis=-1))
    largest = onp.argmax(onp.concatenate([diagonal, trace[..., None]], axis=-1), axis=-1)
    choices = onp.stack(columns, axis=-2)
    chosen = onp.take_along_axis(choices, largest[..., None, None], axis=-2)[..., 0, :]
    return normalized(chosen)


def euler_angles(q: Any, axes: Sequence[int], extrinsic: bool) -> Any:
    """Returns the three Euler angles of a quaternion.

    The method is from Bernardes and Viollet, Quaternion to Euler angles conversion: a direct,
    general and computationally efficient method, PLoS ONE 17(11), 2022.
    """
    if not extrinsic:
        axes = axes[::-1]
    i, j, k = axes
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    parts = [q[..., position] for position in range(4)]
    if symmetric:
        a, b, c, d = parts[3], parts[i], parts[j], parts[k] * sign
    else:
        a, b = parts[3] - parts[j], parts[i] + parts[k] * sign
        c, d = parts[j] + parts[3], parts[k] * sign - parts[i]
    middle = 2.0 * lax.atan2(onp.hypot(c, d), onp.hypot(a, b))
    # Within this tolerance of a singularity, only the sum or the difference of the first and the
    # last angle is accurate.
    eps = float(dtypes.finfo(q.dtype).eps)
    tolerance = 1e-7 if q.dtype == np.float64 else 1e-3 * math.sqrt(eps)
    at_zero, at_pi = onp.abs(middle) <= tolerance, onp.abs(middle - math.pi) <= tolerance
    regular = ~(at_zero | at_pi)
    half_sum, half_difference = lax.atan2(b, a), lax.atan2(d, c)
    first = onp.where(regular, half_sum - half_difference, 0.0)
    last = onp.where(regular, half_sum + half_difference, 0.0)
    # At a singularity, the axes of the first and the last rotation coincide. Only the sum or the
    # difference of their angles is then determined, so one of the two angles is set to zero.
    alone = onp.where(at_zero, 2.0 * half_sum, 2.0 * half_difference)
    if extrinsic:
        first = onp.where(regular, first, onp.where(at_zero, alone, -alone))
    else:
        last = onp.where(regular, last, alone)
    if not symmetric:
        last = last * sign
        middle = middle - math.pi / 2
    if not extrinsic:
        first, last = last, first
    angles = onp.stack([first, middle, last], axis=-1)
    turns = onp.where(angles < -math.pi, 2 * math.pi, onp.where(angles > math.pi, -2 * math.pi, 0))
    return angles + turns.astype(q.dtype)
