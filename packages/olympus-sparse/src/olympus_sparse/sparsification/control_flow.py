# SPDX-License-Identifier: Apache-2.0
"""Sparse rules of calls, branches and loops: their programs run on sparse arrays.

Sparse arrays are pytrees, so branches and loops take them as they are. All branches must return one
structure, and so must all steps of a loop. If structures differ only in whether entries are known
to be sorted or unique, these properties are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import checkpoint, custom_jvp
from olympus_ir import lax
from olympus_ir.lax.calls.primitives import (
    checkpoint_p,
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    jit_p,
    optimization_barrier_p,
)
from olympus_ir.lax.control_flow.operands import ScanLayout, WhileLayout
from olympus_ir.lax.control_flow.primitives import cond_p, scan_p, while_p
from olympus_ir.programs.make import eval_shape
from olympus_ir.programs.olympuspr import ClosedOlympuspr, close_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from ..bcoo.array import BCOO, make
from ..bcoo.layouts import bcoo_update_layout
from .elementwise import as_bcoo, to_dense
from .interpreter import is_sparse, run, run_function, sparse_rules

__all__: list[str] = []


# ---- calls ----


def _inline(key: str) -> Callable[..., list[Any]]:
    def rule(*operands: Any, **params: Any) -> list[Any]:
        return run(params[key], operands)

    return rule


sparse_rules.define(jit_p, _inline("jaxpr"))
sparse_rules.define(closed_call_p, _inline("call_jaxpr"))
# The custom derivative is dropped, because its rule for cotangents takes only dense arrays.
sparse_rules.define(custom_vjp_call_p, _inline("call_jaxpr"))


@sparse_rules.define(checkpoint_p)
def _checkpoint(*operands: Any, jaxpr: Any, prevent_cse: Any, policy: Any, **params: Any) -> Any:
    closed = close_olympuspr(jaxpr)
    again = checkpoint(lambda *args: run(closed, args), prevent_cse=prevent_cse, policy=policy)
    return again(*operands)


@sparse_rules.define(optimization_barrier_p)
def _optimization_barrier(*operands: Any) -> list[Any]:
    return list(lax.optimization_barrier(list(operands)))


@sparse_rules.define(custom_jvp_call_p)
def _custom_jvp_call(
    *operands: Any,
    call_jaxpr: ClosedOlympuspr,
    jvp_jaxpr_fun: Callable[..., Any],
    num_consts: int,
    symbolic_zeros: bool,
    **params: Any,
) -> list[Any]:
    @custom_jvp
    def fun(*args: Any) -> list[Any]:
        return run(call_jaxpr, args)

    @fun.defjvp
    def _(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        values = [_tangent_array(p, t) for p, t in zip(primals, tangents, strict=True)]
        out = run_function(jvp_jaxpr_fun, [*primals, *values])
        half = len(out) // 2
        results, derived = out[:half], out[half:]
        return results, [_tangent_tree(p, t) for p, t in zip(results, derived, strict=True)]

    return fun(*operands)


def _tangent_array(primal: Any, tangent: Any) -> Any:
    """Returns the tangent of a sparse array as a sparse array with the same coordinates."""
    return primal._with_data(tangent.data) if is_sparse(primal) else tangent


def _tangent_tree(primal: Any, tangent: Any) -> Any:
    """Returns the tangent of a sparse array as a pytree, in which indices have no tangent."""
    if not is_sparse(primal):
        return to_dense(tangent)
    buffers, tree = pytrees.tree_flatten(primal)
    if is_sparse(tangent) and tangent.data.shape == primal.data.shape:
        data = tangent.data
    else:
        data = jnp.zeros_like(primal.data)
    zeros = [np.zeros(buffer.shape, dtypes.float0) for buffer in buffers[1:]]
    return pytrees.tree_unflatten(tree, [data, *zeros])


# ---- agreeing on structures ----


def _alike(values: Sequence[Any]) -> list[Any]:
    """Returns conversions that make the results of several branches equal in structure.

    Each value is an array or its structure. The result has a function for each value: `to_dense`,
    `_less_known` or `_unchanged`.
    """
    if not all(map(is_sparse, values)):
        return [to_dense if any(map(is_sparse, values)) else _unchanged] * len(values)
    structures = {pytrees.tree_structure(value) for value in values}
    return [_unchanged if len(structures) == 1 else _less_known] * len(values)


def _unchanged(value: Any) -> Any:
    return value


def _less_known(value: Any) -> Any:
    """Returns a sparse array whose entries are not known to be sorted or unique."""
    buffers, _ = value.tree_flatten()
    plain = value._info._replace(indices_sorted=False, unique_indices=False)
    return type(value).tree_unflatten(plain._asdict(), buffers)


def _changed(values: Sequence[Any], changes: Sequence[Callable[[Any], Any]]) -> list[Any]:
    return [change(value) for change, value in zip(changes, values, strict=True)]


# ---- branches ----


@sparse_rules.define(cond_p)
def _cond(index: Any, *operands: Any, branches: Sequence[ClosedOlympuspr], **params: Any) -> Any:
    def runner(branch: ClosedOlympuspr) -> Callable[..., list[Any]]:
        return lambda *args: run(branch, args)

    results = [eval_shape(runner(branch), *operands) for branch in branches]
    changes = [_alike(values) for values in zip(*results, strict=True)]

    def branch_fun(number: int, branch: ClosedOlympuspr) -> Callable[..., list[Any]]:
        own = [change[number] for change in changes]
        return lambda *args: _changed(run(branch, args), own)

    funs = [branch_fun(number, branch) for number, branch in enumerate(branches)]
    index = lax.convert_element_type(index, np.dtype(np.int32))
    return lax.switch(index, funs, *operands)


# ---- loops ----


def _settled(step: Callable[[Sequence[Any]], Sequence[Any]], init: Sequence[Any]) -> Any:
    """Converts the initial carry so that one step keeps its structure.

    Args:
      step: a function from a carry to the next carry.
      init: the carry before the loop.

    Returns:
      The converted carry, and a conversion for each element of the step's result.
    """
    init = list(init)
    while True:
        out = eval_shape(step, init)
        before, after = [], []
        for old, new in zip(init, out, strict=True):
            changes = _alike([old, new])
            before.append(changes[0])
            after.append(changes[1])
        if all(change is _unchanged for change in before):
            return init, after
        init = _changed(init, before)


@sparse_rules.define(while_p)
def _while(
    *operands: Any,
    cond_jaxpr: ClosedOlympuspr,
    body_jaxpr: ClosedOlympuspr,
    cond_nconsts: int,
    body_nconsts: int,
    **params: Any,
) -> list[Any]:
    layout = WhileLayout(cond_nconsts, body_nconsts)
    cond_consts, body_consts, init = layout.operands(operands)

    def step(carry: Sequence[Any]) -> list[Any]:
        return run(body_jaxpr, [*body_consts, *carry])

    settled, changes = _settled(step, init)

    def condition(carry: Sequence[Any]) -> Any:
        (pred,) = run(cond_jaxpr, [*cond_consts, *carry])
        return pred

    return lax.while_loop(
        condition,
        lambda carry: _changed(step(carry), changes),
        settled,
        checkpoints=params.get("checkpoints"),
        batch=params.get("batch"),
    )


@sparse_rules.define(scan_p)
def _scan(
    *operands: Any,
    jaxpr: ClosedOlympuspr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: int,
    **params: Any,
) -> list[Any]:
    layout = ScanLayout(num_consts, num_carry)
    consts, init, xs = layout.operands(operands)
    rows = [_Rows(x) for x in xs]
    slices = [row.buffers for row in rows]

    def body(carry: Sequence[Any], buffers: Sequence[Any]) -> Any:
        parts = [row.row(buffer) for row, buffer in zip(rows, buffers, strict=True)]
        return layout.results(run(jaxpr, [*consts, *carry, *parts]))

    def first(buffers: Any) -> Any:
        return pytrees.tree_map(lambda buffer: buffer[0], buffers)

    if length == 0 and rows:
        raise NotImplementedError("sparse rule for scan of length zero is not implemented.")
    settled, changes = _settled(lambda carry: body(carry, first(slices))[0], init)
    infos: list[Any] = []

    def step(carry: Sequence[Any], buffers: Sequence[Any]) -> Any:
        after, out = body(carry, buffers)
        out = [as_bcoo(part) for part in out]
        infos[:] = [part._info if is_sparse(part) else None for part in out]
        stacked = [(part.data, part.indices) if is_sparse(part) else part for part in out]
        return _changed(after, changes), stacked

    carry, stacked = lax.scan(
        step,
        settled,
        slices,
        length=length,
        reverse=reverse,
        unroll=unroll,
        checkpoints=params.get("checkpoints"),
    )
    results = [
        operand if info is None else make(operand, info._replace(shape=(length, *info.shape)))
        for operand, info in zip(stacked, infos, strict=True)
    ]
    return [*carry, *results]


class _Rows:
    """Operand of a scan: a dense array, or the buffers of a sparse array with a batch dimension.

    The scan splits the array or the buffers along the first dimension.
    """

    def __init__(self, array: Any) -> None:
        self.info = None
        self.buffers = array
        if is_sparse(array):
            mat: BCOO = as_bcoo(array)
            if mat.n_batch == 0:
                mat = bcoo_update_layout(mat, n_batch=1, on_inefficient=None)
            self.info = mat._info._replace(shape=mat.shape[1:])
            length = mat.shape[0]
            self.buffers = tuple(
                jnp.broadcast_to(buf, (length, *buf.shape[1:])) for buf in mat._bufs
            )

    def row(self, buffers: Any) -> Any:
        return buffers if self.info is None else make(buffers, self.info)
