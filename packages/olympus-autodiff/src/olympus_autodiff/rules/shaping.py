# SPDX-License-Identifier: Apache-2.0
"""Derivatives of operations that rearrange elements, all of which are linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.types.placement import NamedSharding

from ..tables import jvp_rules, linear, transpose_rules, unary_transpose
from ..zeros import aval_of, cotangent_sharding, instantiate, is_undefined_primal, scalar

LINEAR = (
    lax.broadcast_in_dim_p,
    lax.reshape_p,
    lax.squeeze_p,
    lax.transpose_p,
    lax.rev_p,
    lax.concatenate_p,
    lax.stack_p,
    lax.unstack_p,
    lax.tile_p,
    lax.pad_p,
    lax.split_p,
)

for _primitive in LINEAR:
    jvp_rules.define(_primitive, linear)
jvp_rules.exempt(lax.iota_p, reason="has no operands")
jvp_rules.exempt(lax.dim_as_value_p, reason="has no operands")


@transpose_rules.define(lax.broadcast_in_dim_p)
def _broadcast_in_dim_transpose(
    cotangent: Any, operand: Any, *, shape: tuple, broadcast_dimensions: tuple, sharding: Any
) -> list[Any]:
    aval = operand.aval
    kept = [
        (position, dimension)
        for position, dimension in enumerate(broadcast_dimensions)
        if aval.shape[position] == shape[dimension]
    ]
    kept_dimensions = {dimension for _, dimension in kept}
    spread = tuple(axis for axis in range(len(shape)) if axis not in kept_dimensions)
    of_cotangent = cotangent_sharding(cotangent, aval)
    of_sum = None
    if of_cotangent is not None:
        entries = of_cotangent.spec.partitions
        spec = of_cotangent.spec.update(partitions=tuple(entries[position] for position, _ in kept))
        of_sum = NamedSharding(of_cotangent.mesh, spec)
    if spread:
        cotangent = lax.reduce_sum(cotangent, spread, out_sharding=of_sum)
    if len(kept) < aval.ndim:  # dimensions of size one were broadcast
        cotangent = lax.broadcast_in_dim(
            cotangent,
            aval.shape,
            tuple(position for position, _ in kept),
            out_sharding=of_cotangent,
        )
    return [cotangent]


def _reshape_transpose(
    cotangent: Any, aval: Any, *, dimensions: tuple | None, **params: Any
) -> Any:
    if dimensions is None:
        sharding = cotangent_sharding(cotangent, aval)
        return lax.reshape(cotangent, aval.shape, out_sharding=sharding)
    permuted = lax.reshape(cotangent, tuple(aval.shape[axis] for axis in dimensions))
    return lax.transpose(permuted, inverse_permutation(dimensions))


def inverse_permutation(permutation: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def _squeeze_transpose(cotangent: Any, aval: Any, *, dimensions: tuple) -> Any:
    return lax.expand_dims(cotangent, dimensions)


def _transpose_transpose(cotangent: Any, aval: Any, *, permutation: tuple) -> Any:
    return lax.transpose(cotangent, inverse_permutation(permutation))


def _rev_transpose(cotangent: Any, aval: Any, *, dimensions: tuple) -> Any:
    return lax.rev(cotangent, dimensions)


def _tile_transpose(cotangent: Any, aval: Any, *, reps: tuple) -> Any:
    # split each repeated dimension, [r0 n0, r1 n1, ...] -> [r0, n0, r1, n1, ...], and sum over
    # repetitions
    apart = tuple(size for pair in zip(reps, aval.shape, strict=True) for size in pair)
    return lax.reduce_sum(lax.reshape(cotangent, apart), tuple(range(0, len(apart), 2)))


transpose_rules.define(lax.reshape_p, unary_transpose(_reshape_transpose))
transpose_rules.define(lax.squeeze_p, unary_transpose(_squeeze_transpose))
transpose_rules.define(lax.transpose_p, unary_transpose(_transpose_transpose))
transpose_rules.define(lax.rev_p, unary_transpose(_rev_transpose))
transpose_rules.define(lax.tile_p, unary_transpose(_tile_transpose))


# ---- several operands, or several results ----


@transpose_rules.define(lax.concatenate_p)
def _concatenate_transpose(cotangent: Any, *operands: Any, dimension: int) -> list[Any]:
    if len(operands) == 1:
        return [cotangent]
    sizes = tuple(
        (operand.aval if is_undefined_primal(operand) else aval_of(operand)).shape[dimension]
        for operand in operands
    )
    parts = lax.split(cotangent, sizes, dimension)
    return [
        part if is_undefined_primal(operand) else None
        for part, operand in zip(parts, operands, strict=True)
    ]


@transpose_rules.define(lax.split_p)
def _split_transpose(cotangents: Sequence[Any], operand: Any, *, sizes: tuple, axis: int) -> list:
    return [lax.concatenate([instantiate(ct) for ct in cotangents], axis)]


@transpose_rules.define(lax.stack_p)
def _stack_transpose(cotangent: Any, *operands: Any, axis: int) -> list[Any]:
    parts = lax.unstack(cotangent, axis)
    return [
        part if is_undefined_primal(operand) else None
        for part, operand in zip(parts, operands, strict=True)
    ]


@transpose_rules.define(lax.unstack_p)
def _unstack_transpose(cotangents: Sequence[Any], operand: Any, *, axis: int) -> list[Any]:
    return [lax.stack([instantiate(ct) for ct in cotangents], axis)]


@transpose_rules.define(lax.pad_p)
def _pad_transpose(
    cotangent: Any, operand: Any, padding_value: Any, *, padding_config: tuple
) -> list[Any]:
    """Transpose rule of padding: slices for the operand, sums the rest for the padding value."""
    inner = None
    if is_undefined_primal(operand):
        inner = _unpadded(cotangent, operand.aval.shape, padding_config)
    if not is_undefined_primal(padding_value):
        return [inner, None]
    if inner is None:
        shape = aval_of(operand).shape
        inner = _unpadded(cotangent, shape, padding_config)
    everything = tuple(range(len(padding_config)))
    total, taken = lax.reduce_sum(cotangent, everything), lax.reduce_sum(inner, everything)
    return [inner if is_undefined_primal(operand) else None, lax.sub(total, taken)]


def _unpadded(cotangent: Any, shape: tuple, padding_config: tuple) -> Any:
    """Returns the cotangent of the operand of `pad`, from the cotangent of the padded array.

    Elements that negative padding removed have the cotangent zero.
    """
    if any(low < 0 or high < 0 for low, high, _ in padding_config):
        restored = tuple((max(-low, 0), max(-high, 0), 0) for low, high, _ in padding_config)
        zero = scalar(0, aval_of(cotangent).dtype)
        cotangent = lax.pad_p.bind(cotangent, zero, padding_config=restored)
    starts = tuple(max(low, 0) for low, _, _ in padding_config)
    strides = tuple(interior + 1 for _, _, interior in padding_config)
    limits = tuple(
        start + (stride * (size - 1) + 1 if size else 0)
        for start, stride, size in zip(starts, strides, shape, strict=True)
    )
    full = aval_of(cotangent).shape
    if limits == full and not any(starts) and all(stride == 1 for stride in strides):
        return cotangent
    steps = None if all(stride == 1 for stride in strides) else strides
    return lax.slice(cotangent, starts, limits, steps)
