# SPDX-License-Identifier: Apache-2.0
"""Calls of compiled routines inside functions of lax operations.

Lowering rules of linear algebra are functions of lax operations. They call a routine of LAPACK,
cuSOLVER or the TPU compiler, and rearrange its results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.avals import ShapedArray, get_aval

from ... import mlir
from ...context import LoweringContext
from ...tables import define_for_platform, lower_with, lowering_rules
from ..ffi import mlir_attribute

INT32 = np.dtype(np.int32)

# This primitive occurs only inside lowering rules.
kernel_p = Primitive.declare("kernel", multiple_results=True, family="linalg")


@kernel_p.def_abstract_eval
def _types(*avals: ShapedArray, results: tuple, **params: Any) -> list[ShapedArray]:
    return [ShapedArray(shape, dtype) for shape, dtype in results]


def kernel(
    target: str,
    operands: Sequence[Any],
    results: Sequence[tuple[tuple[int, ...], Any]],
    *,
    batch: int = 0,
    aliases: Mapping[int, int] | None = None,
    column_major: bool | None = True,
    api_version: int = 4,
    config: str | None = None,
    **attributes: Any,
) -> list[Any]:
    """Calls a routine that is registered with XLA.

    Args:
      target: the name of the routine.
      operands: arrays with the same number of batch dimensions.
      results: shapes, with the batch dimensions, and dtypes.
      batch: the number of batch dimensions.
      aliases: a mapping from operands to the results that reuse their memory.
      column_major: True if matrices are in column-major order, False if they are in row-major
        order; None if the routine takes both.
      api_version: the version of XLA's custom call interface.
      config: the configuration text for routines with older interfaces.
      **attributes: the routine's attributes, as NumPy scalars, booleans or strings.
    """
    return kernel_p.bind(
        *operands,
        target=target,
        results=tuple((tuple(shape), np.dtype(dtype)) for shape, dtype in results),
        batch=batch,
        aliases=tuple((aliases or {}).items()),
        column_major=column_major,
        api_version=api_version,
        config=config,
        attributes=tuple(sorted(attributes.items())),
    )


def _layout(ndim: int, batch: int, column_major: bool) -> tuple[int, ...]:
    """Returns the dimensions from minor to major."""
    if column_major and ndim - batch == 2:
        return (ndim - 2, ndim - 1, *reversed(range(batch)))
    return tuple(reversed(range(ndim)))


@lowering_rules.define(kernel_p)
def _kernel(
    context: LoweringContext,
    *operands: Any,
    target: str,
    results: tuple,
    batch: int,
    aliases: tuple,
    column_major: bool | None,
    api_version: int,
    config: str | None,
    attributes: tuple,
) -> list[Any]:
    avals_in, avals_out = context.avals_in, context.avals_out
    options: dict[str, Any] = {}
    if column_major is not None:
        options["operand_layouts"] = [_layout(aval.ndim, batch, column_major) for aval in avals_in]
        options["result_layouts"] = [_layout(aval.ndim, batch, column_major) for aval in avals_out]
    if batch and not mlir.has_symbolic([size for aval in avals_in for size in aval.shape]):
        # The partitioner shards the batch dimensions by this rule.
        options["attributes"] = {
            "mhlo.frontend_attributes": mlir.dictionary(
                {"num_batch_dims": mlir.string(str(batch))}
            ),
            "sdy.sharding_rule": mlir.parsed(_sharding_rule(avals_in, avals_out, batch)),
        }
    return context.custom_call(
        target,
        context.result_types,
        operands,
        backend_config=config
        if api_version < 4
        else {name: mlir_attribute(value) for name, value in attributes},
        operand_output_aliases=dict(aliases),
        api_version=api_version,
        **options,
    )


def _sharding_rule(avals_in: Sequence[Any], avals_out: Sequence[Any], batch: int) -> str:
    """Returns the sharding rule of the call, by which Shardy shards its batch dimensions."""
    sizes: list[str] = []

    def factor(size: int) -> str:
        sizes.append(f"{_factor_name(len(sizes))}={size}")
        return _factor_name(len(sizes) - 1)

    shared = [factor(size) for size in avals_in[0].shape[:batch]]

    def dimensions(aval: Any) -> str:
        if not aval.shape:  # a scalar, which is shared by all batch elements
            return "[]"
        return f"[{', '.join([*shared, *map(factor, aval.shape[batch:])])}]"

    operands = ", ".join(map(dimensions, avals_in))
    results = ", ".join(map(dimensions, avals_out))
    return f"#sdy.op_sharding_rule<({operands})->({results}) {{{', '.join(sizes)}}}, custom>"


def _factor_name(index: int) -> str:
    """Returns the name of a factor: the letters i to z, then z with a number."""
    letters = "ijklmnopqrstuvwxyz"
    return letters[index] if index < len(letters) else f"z_{index - len(letters) + 1}"


# ---- helpers for the rules ----


def ui8(value: str | int) -> np.uint8:
    """Returns the code of a LAPACK option, given as a letter or as its character code."""
    return np.uint8(ord(value) if isinstance(value, str) else value)


def parts(x: Any, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], Any]:
    """Returns the batch dimensions of an array, the other dimensions, and the dtype."""
    aval = get_aval(x)
    count = len(aval.shape) - rank
    return aval.shape[:count], aval.shape[count:], aval.dtype


def nan_unless(ok: Any, x: Any) -> Any:
    """Returns the array with NaNs in the batch elements for which a condition does not hold."""
    aval = get_aval(x)
    nan = np.full((), np.nan, aval.dtype)
    condition = lax.broadcast_in_dim(ok, aval.shape, tuple(range(get_aval(ok).ndim)))
    return lax.select(condition, x, lax.broadcast_in_dim(nan, aval.shape, ()))


def succeeded(info: Any) -> Any:
    """Returns whether a routine reports no failure."""
    return lax.eq(info, lax.full(get_aval(info).shape, np.int32(0)))


def rule_for(primitive: Any, platform: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that defines a function of arrays as a platform's lowering rule."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        define_for_platform(primitive, platform, lower_with(function))
        return function

    return decorate


def refuse(primitive: Any) -> None:
    """Defines a rule that raises NotImplementedError, for a platform without a routine."""

    def rule(context: LoweringContext, *operands: Any, **params: Any) -> Any:
        raise NotImplementedError(
            f"`{primitive.name}` cannot be lowered for {' and '.join(context.platforms)}: there is "
            "no routine for it. Compute it on the CPU, by placing its operands there."
        )

    lowering_rules.define(primitive, rule)
