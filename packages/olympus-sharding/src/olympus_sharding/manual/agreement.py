# SPDX-License-Identifier: Apache-2.0
"""Check for collectives that only some devices would execute.

A collective waits for all devices along its axes. If a `cond` or a `while_loop` depends on a value
that varies over such an axis, some devices may choose another branch or leave the loop earlier. The
other devices would wait forever, and the CPU runtime ends the process after 40 seconds. With
``check_vma``, the types of values in `shard_map` say which values vary. Such programs therefore
raise an error at trace time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.collectives.named_axes import axis_names, psum_invariant_p
from olympus_ir.lax.control_flow import cond_p, while_p
from olympus_ir.lax.point_to_point import precv_p, psend_p
from olympus_ir.programs.olympuspr import Equation, Olympuspr, olympusprs_in_params

__all__ = ["check_collectives_agree"]

# For each primitive that waits for other devices, the name of its parameter with the axes.
_AXES_PARAMETER = {
    lax.psum_p: "axes",
    lax.pmax_p: "axes",
    lax.pmin_p: "axes",
    psum_invariant_p: "axes",
    lax.all_gather_p: "axis_name",
    lax.reduce_scatter_p: "axis_name",
    lax.ppermute_p: "axis_name",
    lax.pbroadcast_p: "axis_name",
    lax.all_to_all_p: "axis_name",
    lax.ragged_all_to_all_p: "axis_name",
    psend_p: "axis_name",
    precv_p: "axis_name",
}


def check_collectives_agree(olympuspr: Olympuspr) -> None:
    """Checks that all devices along an axis execute the same collectives over the axis.

    The types of the program say over which axes values vary.

    Args:
      olympuspr: the body of a `shard_map` with ``check_vma``.

    Raises:
      ValueError: devices that wait for each other may take different paths.
    """
    for equation in olympuspr.eqns:
        if not equation.effects:
            # collectives, and equations that contain collectives, have effects
            continue
        if equation.primitive is cond_p or equation.primitive is while_p:
            _check_decision(equation)
        for inner in olympusprs_in_params(equation.params):
            check_collectives_agree(inner)


def _check_decision(equation: Equation) -> None:
    """Refuses collectives in a `cond` or a `while_loop` whose predicate varies over their axes."""
    params = equation.params
    if equation.primitive is cond_p:
        decision, programs = equation.invars[0], params["branches"]
        condition = "the predicate or index of the cond or switch"
        consequence = "choose another branch"
    else:
        decision = params["cond_jaxpr"].jaxpr.outvars[0]
        programs = params["cond_jaxpr"], params["body_jaxpr"]
        condition, consequence = "the condition of the while_loop", "leave the loop"
    varying = decision.aval.vma
    if not varying:
        return
    for program in programs:
        for name, axes in _collectives(program.jaxpr, varying):
            raise ValueError(
                f"{name} over {_names(axes)} may not be reached by all devices: {condition} around "
                f"it varies over {_names(varying)}, so that some devices may {consequence} while "
                "others wait for them forever. Call the collective outside, or make the decision "
                "the same on all devices, for instance by olympus.lax.pmax; with check_vma=False "
                "nothing is checked."
            )


def _collectives(olympuspr: Olympuspr, varying: frozenset) -> Iterator[tuple[str, tuple]]:
    """Yields the name and the axes of each collective over the given axes."""
    for equation in olympuspr.eqns:
        parameter = _AXES_PARAMETER.get(equation.primitive)
        if parameter is None:
            if equation.effects:
                for inner in olympusprs_in_params(equation.params):
                    yield from _collectives(inner, varying)
        elif not varying.isdisjoint(axes := axis_names(equation.params[parameter])):
            yield equation.primitive.name.removesuffix("_invariant"), axes


def _names(axes: Any) -> str:
    axes = sorted(map(repr, axes))
    return f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(axes)}"
