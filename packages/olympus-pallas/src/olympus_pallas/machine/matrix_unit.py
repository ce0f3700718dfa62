# SPDX-License-Identifier: Apache-2.0
"""Evaluation rules of matrix units on simulated cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import Equation

from ..tpu.matrix_unit import matmul_acc_lhs_p, matmul_pop_p, matmul_push_rhs_p
from .evaluation import Core, machine_rules


def _unit(core: Core, number: int) -> dict[Any, Any]:
    return core.state.setdefault(("matrix unit", number), {})


@machine_rules.define(matmul_push_rhs_p)
def _push(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    params = equation.params
    unit = _unit(core, params["mxu_index"])
    register = ("staged", params["staging_register"])
    if register in unit:
        raise ValueError(
            f"staging register {params['staging_register']} of matrix unit {params['mxu_index']} "
            "is not empty: consume the pushed operand first, with "
            "matmul_acc_lhs(load_staged_rhs=...)"
        )
    (rhs,) = operands
    unit[register] = rhs.T if params["transpose"] else rhs
    return []


@machine_rules.define(matmul_acc_lhs_p)
def _accumulate(core: Core, equation: Equation, operands: Sequence[Any]) -> list[Any]:
    params = equation.params
    unit = _unit(core, params["mxu_index"])
    staged = params["load_staged_rhs"]
    if staged is not None:
        if ("staged", staged) not in unit:
            raise ValueError(f"nothing was pushed to staging register {staged}")
        unit["rhs"] = unit.pop(("staged", staged))
    if "rhs" not in unit:
        raise ValueError("the matrix unit has no right factor: give load_staged_rhs")
    (lhs,) = operands
    exact = np.dtype(np.int32 if lhs.dtype.kind in "iu" else np.float32)
    product = lhs.astype(exact) @ unit["rhs"].astype(exact)
    address = ("sum", params["acc_addr"])
    unit[address] = unit[address] + product if address in unit else product
    return []


@machine_rules.define(matmul_pop_p)
def _pop(core: Core, equation: Equation, operands: Sequence[Any]) -> Any:
    params = equation.params
    unit = _unit(core, params["mxu_index"])
    zeros = np.zeros(params["shape"], params["dtype"])
    total = unit.pop(("sum", params["acc_addr"]), zeros)
    return total.reshape(params["shape"]).astype(params["dtype"])
