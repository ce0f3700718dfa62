# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of primitives that call a program, such as `jit` and `checkpoint`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.settings import config
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray

from .declarations import Operand, Operation, sample
from .recording import recorded_params
from .references import written_in_loops, written_in_place

_vector = Operand((3,), (0.5, 2.0))
_operands = (_vector, _vector)


def _called(x: Any, y: Any) -> list[Any]:
    return [lax.mul(lax.sin(x), y), lax.exp(y)]


sample(
    lax.jit_p,
    *(
        Operation(
            label,
            _operands,
            recorded_params(lax.jit_p, lambda *args, fun=fun: jit(fun)(*args), *_operands),
        )
        for label, fun in (
            ("two_results", _called),
            ("unused_operand", lambda x, y: [lax.sin(x)]),
            ("references", written_in_place),
            ("references_in_loops", written_in_loops),
        )
    ),
)


def _program(dtype: Any) -> Any:
    avals = [ShapedArray(operand.shape, dtype) for operand in _operands]
    with config.enable_x64(True):
        return trace_to_closed(_called, avals)


sample(
    lax.closed_call_p,
    Operation("two_results", _operands, lambda dtype: {"call_jaxpr": _program(dtype)}),
)
sample(
    lax.composite_p,
    Operation(
        "two_results",
        _operands,
        lambda dtype: {"jaxpr": _program(dtype), "name": "my.op", "version": 1, "attributes": ()},
    ),
)
sample(
    lax.checkpoint_p,
    *(
        Operation(
            label,
            _operands,
            lambda dtype, policy=policy: {
                "jaxpr": _program(dtype).jaxpr,
                "prevent_cse": True,
                "differentiated": False,
                "policy": policy,
            },
        )
        for label, policy in (
            ("nothing_kept", None),
            ("all_kept", lambda *avals, **params: True),
        )
    ),
)


# ---- functions with custom rules that give the true derivatives ----


def _jvp(x: Any, y: Any, x_tangent: Any, y_tangent: Any) -> list[Any]:
    tangent = lax.add(lax.mul(lax.mul(lax.cos(x), y), x_tangent), lax.mul(lax.sin(x), y_tangent))
    return [*_called(x, y), tangent, lax.mul(lax.exp(y), y_tangent)]


def _forward(x: Any, y: Any) -> list[Any]:
    return [x, y, *_called(x, y)]  # residuals come before results


def _backward(x: Any, y: Any, product: Any, exponential: Any) -> list[Any]:
    return [
        lax.mul(lax.mul(lax.cos(x), y), product),
        lax.add(lax.mul(lax.sin(x), product), lax.mul(lax.exp(y), exponential)),
    ]


def _custom_jvp_params(dtype: Any) -> Mapping[str, Any]:
    return {
        "call_jaxpr": _program(dtype),
        "jvp_jaxpr_fun": _jvp,
        "num_consts": 0,
        "symbolic_zeros": False,
    }


def _custom_vjp_params(dtype: Any) -> Mapping[str, Any]:
    pair = pytrees.tree_structure([0, 0])
    return {
        "call_jaxpr": _program(dtype),
        "fwd_jaxpr_thunk": _forward,
        "bwd": _backward,
        "num_consts": 0,
        "out_trees": lambda: (pair, pair),
        "symbolic_zeros": False,
    }


sample(lax.custom_jvp_call_p, Operation("two_results", _operands, _custom_jvp_params))
sample(
    lax.custom_vjp_call_p,
    Operation("two_results", _operands, _custom_vjp_params, modes=("reverse",)),
)

sample(
    lax.optimization_barrier_p,
    Operation("one", (_vector,)),
    Operation("several_types", (_vector, Operand((), dtype=np.int32)), differentiable=(0,)),
)
