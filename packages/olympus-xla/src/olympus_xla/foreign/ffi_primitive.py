# SPDX-License-Identifier: Apache-2.0
"""The primitive of foreign calls and its rules for transformations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_autodiff.tables import jvp_rules
from olympus_batching.callback_calls import call_by_vmap_method
from olympus_batching.tables import batching_rules
from olympus_ir.programs.primitives import instruction
from olympus_ir.reference import reference_rules
from olympus_ir.types.effects import (
    Effect,
    checkpoint_allowed_effects,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    lowerable_effects,
)

ffi_call_p = instruction("ffi_call", multiple_results=True, family="ffi")

reference_rules.exempt(
    ffi_call_p, reason="foreign functions speak the protocol of XLA's runtime, and need it to run"
)


class FfiEffect(Effect):
    """Effect of foreign functions with side effects."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "FfiEffect()"


side_effect = frozenset((FfiEffect(),))
for _allowing in (
    lowerable_effects,
    control_flow_allowed_effects,
    checkpoint_allowed_effects,
    custom_derivatives_allowed_effects,
):
    _allowing.add_type(FfiEffect)


@ffi_call_p.def_effectful_abstract_eval
def _types(
    *avals: Any, result_avals: tuple, has_side_effect: bool, **params: Any
) -> tuple[Any, frozenset]:
    return result_avals, side_effect if has_side_effect else frozenset()


@batching_rules.define(ffi_call_p)
def _batch(
    axis_size: int,
    args: Sequence[Any],
    batch_dims: Sequence[Any],
    *,
    input_layouts: tuple,
    output_layouts: tuple,
    **params: Any,
) -> Any:
    method = params["vmap_method"]
    batched = [dim is not None or method != "legacy_vectorized" for dim in batch_dims]
    return call_by_vmap_method(
        ffi_call_p,
        axis_size,
        args,
        batch_dims,
        {"input_layouts": input_layouts, "output_layouts": output_layouts, **params},
        input_layouts=tuple(
            _with_leading_dim(layout) if has_dim else layout
            for layout, has_dim in zip(input_layouts, batched, strict=True)
        ),
        output_layouts=tuple(map(_with_leading_dim, output_layouts)),
    )


def _with_leading_dim(layout: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a layout, minor to major, with an added leading dimension that is most major."""
    return (*(dim + 1 for dim in layout), 0)


@jvp_rules.define(ffi_call_p)
def _differentiate(
    primals: Sequence[Any], tangents: Sequence[Any], *, target_name: str, **params: Any
) -> Any:
    raise ValueError(
        f"The FFI call to `{target_name}` cannot be differentiated: the derivative of the "
        "function is not known. Define it with `olympus.custom_vjp` or `olympus.custom_jvp`, or "
        "wrap its operands in `lax.stop_gradient`."
    )
