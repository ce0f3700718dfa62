# SPDX-License-Identifier: Apache-2.0
"""Primitives whose instances hold operand types and parameters, and expand to other operations.

An instance of a `VJPHiPrimitive` describes one application. It holds the operands' types and the
parameters, and is called with the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_batching import vmap
from olympus_batching.tables import batching_rules
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import set_current_trace
from olympus_ir.trees import pytrees

from ..forward.custom_linear import custom_lin_p
from ..forward.linearize import LinearizeTrace
from ..tables import jvp_rules, linearize_rules, transpose_rules
from ..zeros import UndefinedPrimal, Zero, add_tangents, aval_of, instantiate, is_undefined_primal

__all__ = ["AxisData", "VJPHiPrimitive", "call_hi_primitive_p"]

# The syntax is: results = call_hi_primitive[_prim=...] operands
call_hi_primitive_p = Primitive.declare(
    "call_hi_primitive", multiple_results=True, cache_inference=False
)


class AxisData(NamedTuple):
    """The mapped axis, as batching rules get it.

    Attributes:
      name: the axis name.
      size: the axis size.
      spmd_name: the value of ``spmd_axis_name``: the mesh axes over which the mapped axis is
        sharded.
      explicit_mesh_axis: the explicit mesh axes over which the batch dimension is sharded.
    """

    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


class _Accumulator:
    """Accumulator of the cotangent of one operand.

    Attributes:
      aval: the operand's type.
    """

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.total: Any = Zero(aval.to_tangent_aval())

    def accum(self, cotangent: Any) -> None:
        """Adds a cotangent to the accumulated sum."""
        if cotangent is not None:
            self.total = add_tangents(self.total, cotangent)


class VJPHiPrimitive:
    """Base of primitives whose instances each hold the operand types and parameters of one use.

    The ``__init__`` of a subclass sets these attributes before it calls ``super().__init__()``:
    ``in_avals``, a tuple of the operands' types or of pytrees of types; ``out_aval``, the type of
    the result; and ``params``, a dictionary of hashable parameters, which become attributes. A
    subclass defines `expand`, and for derivatives `jvp`, or `vjp_fwd` with `vjp_bwd_retval`, or
    `lin` with `linearized`.

    Example:
      >>> from olympus_ir.programs.tracing import typeof
      >>> class Scaled(VJPHiPrimitive):
      ...     def __init__(self, aval, factor):
      ...         self.in_avals, self.out_aval = (aval,), aval
      ...         self.params = {"factor": factor}
      ...         super().__init__()
      ...     def expand(self, x):
      ...         return lax.mul(x, self.factor)
      >>> from olympus_ir import lax
      >>> float(Scaled(typeof(2.0), 3.0)(2.0))
      6.0
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise TypeError(
                    f"{type(self).__name__} must set `{name}` before it calls super().__init__()"
                )
        self.in_avals_flat, self.in_tree = pytrees.tree_flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = pytrees.tree_flatten(self.out_aval)
        self.__dict__.update(self.params)

    def __call__(self, *args: Any) -> Any:
        """Applies the primitive."""
        leaves = self.in_tree.flatten_up_to(args)
        self.check(*map(aval_of, leaves))
        results = call_hi_primitive_p.bind(*leaves, _prim=self)
        return pytrees.tree_unflatten(self.out_tree, results)

    # ---- what subclasses define ----

    def check(self, *arg_tys: Any) -> None:
        """Raises an error if the operand types are not valid. The default accepts all types."""

    def expand(self, *args: Any) -> Any:
        """Expands the primitive: computes its results by other operations."""
        raise NotImplementedError(f"subclass {type(self)} must implement `expand`")

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """Returns the result and its tangent."""
        raise NotImplementedError(f"for jvp support, subclass {type(self)} must implement `jvp`")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """Returns the result and residuals.

        Args:
          nzs_in: for each operand whether it is differentiated.
          *args: the operands.
        """
        raise NotImplementedError(
            f"for grad support, subclass {type(self)} must implement `vjp_fwd`"
        )

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """Returns the operands' cotangents, as a tuple."""
        raise NotImplementedError(
            f"for grad support, subclass {type(self)} must implement `vjp_bwd` or `vjp_bwd_retval`"
        )

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Adds the operands' cotangents to the accumulators. The default uses `vjp_bwd_retval`."""
        cotangents = self.in_tree.flatten_up_to(self.vjp_bwd_retval(res, outgrad))
        for accumulator, cotangent in zip(
            self.in_tree.flatten_up_to(arg_accums), cotangents, strict=True
        ):
            accumulator.accum(cotangent)

    def lin(self, nzs_in: Any, *primals: Any) -> Any:
        """Returns the result and residuals of a linearization."""
        raise NotImplementedError(
            f"for linearize support, subclass {type(self)} must implement `lin` and `linearized`"
        )

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """Returns the result's tangent, linear in the operands' tangents."""
        raise NotImplementedError(
            f"for linearize support, subclass {type(self)} must implement `lin` and `linearized`"
        )

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        """Adds the cotangent of each linear operand to the accumulator of the operand.

        Args:
          out_ct: the cotangent of the result.
          *maybe_accums: an accumulator for each operand in which the primitive is linear, and a
            value for each other operand.
        """
        raise NotImplementedError(
            f"for transpose support, subclass {type(self)} must implement `transpose`"
        )

    def batch(self, axis_data: AxisData, args: Any, dims: Any) -> Any:
        """Returns the result for a batch of operands, and its batch dimension.

        By default, the method maps `expand` over the batch with `vmap`. If the class has a
        `batch_dim_rule`, the method applies `expand` to the whole batch instead.

        Args:
          axis_data: the mapped axis.
          args: the operands.
          dims: the batch dimension of each operand, or None.
        """
        if type(self).batch_dim_rule is not VJPHiPrimitive.batch_dim_rule:
            return self.expand(*args), self.batch_dim_rule(axis_data, dims)
        mapped = vmap(self.expand, in_axes=dims, axis_size=axis_data.size)
        return mapped(*args), pytrees.tree_map(lambda _: 0, self.out_aval)

    def batch_dim_rule(self, axis_data: AxisData, dims: Any, /) -> Any:
        """Returns the result's batch dimension, if the primitive can apply to a whole batch."""
        raise NotImplementedError(
            f"for vmap support, subclass {type(self)} must implement `batch` or `batch_dim_rule`"
        )

    def dce(self, used_outs: Any) -> Any:
        """Returns flags of the needed operands, and a primitive that computes only used results."""
        return pytrees.tree_map(lambda _: True, self.in_avals), self

    def remat(self, _policy: Any, *args: Any) -> Any:
        """Applies the primitive in a checkpointed function."""
        return self(*args)

    def staging(self, trace: Any, source_info: Any, *args: Any) -> Any:
        """Applies the primitive while a program is recorded."""
        return self(*args)

    # ---- as a parameter of an equation ----

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.params.items()), tuple(self.in_avals_flat)))

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and self.params == other.params  # type: ignore[attr-defined]
            and self.in_tree == other.in_tree  # type: ignore[attr-defined]
            and self.in_avals_flat == other.in_avals_flat  # type: ignore[attr-defined]
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.params}]"

    # ---- flat operands ----

    def args_of(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        return pytrees.tree_unflatten(self.in_tree, leaves)

    def leaves_of(self, result: Any) -> list[Any]:
        return self.out_tree.flatten_up_to(result)


def _is_defined(primitive: VJPHiPrimitive, method: str) -> bool:
    return getattr(type(primitive), method) is not getattr(VJPHiPrimitive, method)


# ---- rules ----


@call_hi_primitive_p.def_effectful_abstract_eval
def _call_types(*avals: Any, _prim: VJPHiPrimitive) -> Any:
    return list(_prim.out_avals_flat), frozenset(_prim.effects)


@expansion_rules.define(call_hi_primitive_p)
def _call_expanded(*operands: Any, _prim: VJPHiPrimitive) -> list[Any]:
    return _prim.leaves_of(_prim.expand(*_prim.args_of(operands)))


call_hi_primitive_p.def_impl(_call_expanded)


@jvp_rules.define(call_hi_primitive_p)
def _call_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, _prim: VJPHiPrimitive) -> Any:
    result, tangent = _prim.jvp(
        _prim.args_of(primals), _prim.args_of([instantiate(t) for t in tangents])
    )
    return _prim.leaves_of(result), _prim.leaves_of(tangent)


@linearize_rules.define(call_hi_primitive_p)
def _call_linearize(
    trace: LinearizeTrace,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    _prim: VJPHiPrimitive,
) -> Any:
    moving = [t.__class__ is not Zero for t in tangents]
    if _is_defined(_prim, "lin"):
        with set_current_trace(trace.parent):
            result, residuals = _prim.lin(_prim.args_of(moving), *_prim.args_of(primals))
        tangent_args = _prim.args_of([instantiate(t) for t in tangents])
        return _prim.leaves_of(result), _prim.leaves_of(_prim.linearized(residuals, *tangent_args))
    if not _is_defined(_prim, "vjp_fwd") and _is_defined(_prim, "jvp"):
        return _call_jvp(primals, tangents, _prim=_prim)
    with set_current_trace(trace.parent):
        result, residuals = _prim.vjp_fwd(_prim.args_of(moving), *_prim.args_of(primals))
    results = _prim.leaves_of(result)
    residual_leaves, residual_tree = pytrees.tree_flatten(residuals)
    tangents_out = trace.tangent_trace.record(
        custom_lin_p,
        [*residual_leaves, *(t for t in tangents if t.__class__ is not Zero)],
        {
            "num_res": len(residual_leaves),
            "bwd": _backward(_prim, residual_tree),
            "in_zeros": tuple(not flag for flag in moving),
            "out_avals": tuple(aval_of(result).to_tangent_aval() for result in results),
            "symbolic_zeros": False,
        },
    )
    return results, tangents_out


def _backward(primitive: VJPHiPrimitive, residual_tree: Any) -> Callable[..., list[Any]]:
    """Returns a backward pass that maps flat residuals and cotangents to flat cotangents."""
    count = residual_tree.num_leaves

    def backward(*operands: Any) -> list[Any]:
        accumulators = [_Accumulator(aval) for aval in primitive.in_avals_flat]
        primitive.vjp_bwd(
            pytrees.tree_unflatten(residual_tree, operands[:count]),
            pytrees.tree_unflatten(primitive.out_tree, operands[count:]),
            *primitive.args_of(accumulators),
        )
        return [accumulator.total for accumulator in accumulators]

    return backward


@transpose_rules.define(call_hi_primitive_p)
def _call_transpose(cotangents: Sequence[Any], *operands: Any, _prim: VJPHiPrimitive) -> list[Any]:
    accumulators = [
        _Accumulator(operand.aval) if operand.__class__ is UndefinedPrimal else operand
        for operand in operands
    ]
    out_ct = pytrees.tree_unflatten(_prim.out_tree, [instantiate(ct) for ct in cotangents])
    _prim.transpose(out_ct, *_prim.args_of(accumulators))
    return [
        accumulator.total if is_undefined_primal(operand) else None
        for accumulator, operand in zip(accumulators, operands, strict=True)
    ]


@batching_rules.define(call_hi_primitive_p)
def _call_batching(
    axis_size: int, args: Sequence[Any], batch_dims: Sequence[Any], *, _prim: VJPHiPrimitive
) -> Any:
    result, dims = _prim.batch(
        AxisData(None, axis_size), _prim.args_of(args), _prim.args_of(batch_dims)
    )
    leaves = _prim.leaves_of(result)
    if dims is None or isinstance(dims, int):
        return leaves, [dims] * len(leaves)
    return leaves, _prim.leaves_of(dims)
