# SPDX-License-Identifier: Apache-2.0
"""`custom_rule`: a function with custom rules for any of the interpreters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olympus_autodiff.custom.calling import (
    CustomRuleFunction,
    name_of,
)
from olympus_autodiff.custom.custom_jvp import custom_jvp, split_arguments
from olympus_autodiff.custom.derived_rules import (
    jvp_of_linearization,
    jvp_of_vjp,
    with_transpose,
)
from olympus_autodiff.forward.jvp import jvp as jvp_of
from olympus_batching import vmap
from olympus_batching.custom_batching import custom_vmap
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees

from ..foreign.custom_partitioning import custom_partitioning
from .lowered_function import with_lowering

__all__ = ["custom_rule"]

Rule = Callable[..., Any]


class custom_rule(CustomRuleFunction):
    """Wraps a function with custom rules. Missing rules follow from the given rules.

    Rules are keyword arguments, or are set later by methods that serve as decorators: `def_jvp`,
    `def_vjp`, `def_linearize`, `def_transpose`, `def_batch`, `def_partition`, `def_lower` and
    `def_reference`.

    * Forward mode uses ``jvp``, else ``linearize``, else the transpose of the backward pass of
      ``vjp``. Reverse mode uses ``vjp``, else the transpose of the rule for forward mode.
    * A linear function needs only ``transpose``.
    * Without a derivative rule, the derivatives of ``reference`` are used, or else those of the
      function.
    * Without ``batch``, `vmap` batches derivative rules operation by operation. For a function with
      ``lower`` or ``partition``, it batches ``reference``, or else the function itself.

    Derivative rules take precedence over ``batch``: `vmap` of a derivative batches the derivative
    rule. If the forward pass calls the function, the rules of the function apply to this call, too.
    `custom_jvp` and `custom_vjp` are special cases with a single rule.

    Args:
      fun: the function. Its arguments and its result are arrays or pytrees of arrays.
      jvp: ``(primals, tangents) -> (result, tangent of the result)``, as for `custom_jvp`.
      vjp: a pair of ``fwd(*args) -> (result, residuals)`` and
        ``bwd(residuals, cotangent) -> cotangents``, as for `custom_vjp`.
      linearize: ``(*args) -> (result, push)``, where ``push(*tangents)`` is linear.
      transpose: for linear functions, ``(*other_args, cotangent) -> cotangents`` of the linear
        arguments.
      batch: ``(axis_size, in_batched, *args) -> (result, out_batched)``, as for `custom_vmap`.
      partition: ``(mesh, arg_shapes, result_shape) -> (mesh, function of the shards, shardings of
        the result, shardings of the arguments)``, as for `custom_partitioning`; or only a sharding
        rule such as ``"i j -> i"``, if each device calls the function on its shards.
      sharding_rule: the sharding rule that accompanies a function ``partition``.
      lower: ``(context, *operands) -> results``, a rule that builds the operations of the compiled
        program, as for `interpreters.mlir.register_lowering`; or a dictionary of rules by platform.
        Other platforms compile ``reference``, or the function.
      reference: the same function, written in ordinary operations. Missing rules follow from it,
        and `olympus.testing.check_rule` compares with it.
      linear_argnums: the positions of the arguments in which a function with ``transpose`` is
        linear; by default all.
      nondiff_argnums: the positions of arguments that are not arrays. ``jvp`` and ``bwd`` take
        these arguments first; other rules take them at their positions.

    Raises:
      AttributeError: the function is called before any rule is given.

    Example:
      >>> import numpy as np
      >>> from olympus_autodiff import grad, jvp
      >>> from olympus_ir import lax
      >>> @custom_rule
      ... def clipped(x):
      ...     return x
      >>> clipped.def_vjp(lambda x: (x, None), lambda _, ct: (lax.clamp(-1.0, ct, 1.0),))
      >>> float(grad(lambda x: 5.0 * clipped(x))(2.0))
      1.0
    """

    kind = "custom_rule"

    def __init__(
        self,
        fun: Callable[..., Any],
        *,
        jvp: Rule | None = None,
        vjp: tuple[Rule, Rule] | None = None,
        linearize: Rule | None = None,
        transpose: Rule | None = None,
        batch: Rule | None = None,
        partition: Rule | str | None = None,
        sharding_rule: Any = None,
        lower: Rule | Mapping[str, Rule] | None = None,
        reference: Callable[..., Any] | None = None,
        linear_argnums: Sequence[int] | None = None,
        nondiff_argnums: Sequence[int] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums)
        self.jvp = jvp
        self.vjp = vjp
        self.linearize = linearize
        self.transpose = transpose
        self.batch = batch
        self.partition = partition
        self.sharding_rule = sharding_rule
        self.lower: dict[str | None, Rule] = {}
        if lower is not None:
            self.lower.update(lower if isinstance(lower, Mapping) else {None: lower})
        self.reference = reference
        self.linear_argnums = None if linear_argnums is None else tuple(linear_argnums)
        # The function with all rules applied, for functions without ``nondiff_argnums``.
        self._ready: Callable[..., Any] | None = None

    # ---- definition of rules ----

    def def_jvp(self, rule: Rule) -> Rule:
        """Sets the jvp rule, and returns it."""
        return self._set("jvp", rule)

    def def_vjp(self, fwd: Rule, bwd: Rule) -> None:
        """Sets the vjp rule: a forward and a backward pass."""
        self._set("vjp", (fwd, bwd))

    def def_linearize(self, rule: Rule) -> Rule:
        """Sets the rule that returns the result and its linear map, and returns the rule."""
        return self._set("linearize", rule)

    def def_transpose(self, rule: Rule) -> Rule:
        """Sets the transpose of a linear function, and returns it."""
        return self._set("transpose", rule)

    def def_batch(self, rule: Rule) -> Rule:
        """Sets the batching rule for `vmap`, and returns it."""
        return self._set("batch", rule)

    def def_partition(self, rule: Rule | str, sharding_rule: Any = None) -> Any:
        """Sets the partitioning rule for several devices, and returns it."""
        self.sharding_rule = sharding_rule
        return self._set("partition", rule)

    def def_lower(self, rule: Rule | None = None, *, platform: str | None = None) -> Any:
        """Sets the lowering rule for one platform or for all platforms, and returns it.

        Without ``rule``, returns a decorator.
        """
        if rule is None:
            return lambda given: self.def_lower(given, platform=platform)
        self.lower[platform] = rule
        self._ready = None
        return rule

    def def_reference(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the reference function, from which missing rules follow, and returns it."""
        return self._set("reference", fun)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}  # The function is made again from the rules.

    def _set(self, name: str, rule: Any) -> Any:
        setattr(self, name, rule)
        self._ready = None
        return rule

    # ---- calls ----

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self.positional(args, kwargs)
        if not self.nondiff_argnums:
            if self._ready is None:
                self._ready = self._with_rules([])
            return self._ready(*args)
        fixed, differentiated = split_arguments(args, self.nondiff_argnums)
        return self._with_rules(fixed)(*differentiated)

    def _with_rules(self, fixed: Sequence[tuple[int, Any]]) -> Callable[..., Any]:
        """Returns the function of the arguments that are not in ``fixed``, with all rules applied.

        ``fixed`` has the positions and the values of the arguments at ``nondiff_argnums``.
        """
        closed = functools.partial(_closed, fixed)
        definition = closed(self.reference or self.fun)
        core = closed(self.fun)
        derivative = self._derivative([value for _, value in fixed], closed)
        is_opaque = bool(self.lower) or self.partition is not None
        if not (is_opaque or derivative or self.batch or self.reference or self.transpose):
            raise AttributeError(
                f"No rule defined for custom_rule function {name_of(self)}: give one as a keyword "
                "argument, or set one by a method such as def_jvp"
            )
        if self.lower:
            core = with_lowering(core, definition, self.lower, name_of(self.fun))
        if self.partition is not None:
            core = _partitioned(core, self.partition, self.sharding_rule)
        if derivative is None and (is_opaque or self.reference):
            core = _differentiated(core, functools.partial(_jvp_of_definition, definition))
        if self.batch is not None or is_opaque:
            core = _batched(core, definition, self.batch and closed(self.batch, shift=2))
        if derivative is not None:
            return _differentiated(core, derivative)
        if self.transpose is not None:
            return with_transpose(core, closed(self.transpose), self.linear_argnums)
        return core

    def _derivative(self, fixed: Sequence[Any], closed: Callable[..., Any]) -> Rule | None:
        """Returns the jvp rule that follows from the given derivative rules."""
        jvp = None if self.jvp is None else functools.partial(self.jvp, *fixed)
        if jvp is None and self.linearize is not None:
            jvp = jvp_of_linearization(closed(self.linearize))
        if self.vjp is None:
            return jvp
        fwd, bwd = self.vjp
        return jvp_of_vjp(closed(fwd), functools.partial(bwd, *fixed) if fixed else bwd, jvp)


def _closed(
    fixed: Sequence[tuple[int, Any]], fun: Callable[..., Any], shift: int = 0
) -> Callable[..., Any]:
    """Returns ``fun`` with the arguments ``fixed`` inserted at their positions plus ``shift``."""
    if not fixed:
        return fun

    @functools.wraps(fun)
    def called(*args: Any) -> Any:
        values = list(args)
        for position, value in fixed:
            values.insert(position + shift, value)
        return fun(*values)

    del called.__wrapped__  # the signature of ``fun`` still has the fixed arguments
    return called


def _jvp_of_definition(
    definition: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> Any:
    return jvp_of(definition, tuple(primals), tuple(tangents))


def _differentiated(fun: Callable[..., Any], rule: Rule) -> Callable[..., Any]:
    function = custom_jvp(fun)
    function.defjvp(rule)
    return function


def _batched(
    fun: Callable[..., Any], definition: Callable[..., Any], rule: Rule | None
) -> Callable[..., Any]:
    """Adds a batching rule to a function: the given rule, or the batched definition."""

    def of_definition(axis_size: int, in_batched: list[Any], *args: Any) -> Any:
        in_axes = tuple(
            pytrees.tree_map(lambda flag: 0 if flag else None, flags) for flags in in_batched
        )
        out = vmap(definition, in_axes=in_axes, axis_size=axis_size)(*args)
        return out, pytrees.tree_map(lambda _: True, out)

    function = custom_vmap(fun)
    function.def_vmap(of_definition if rule is None else rule)
    return function


def _partitioned(
    fun: Callable[..., Any], partition: Rule | str, sharding_rule: Any
) -> Callable[..., Any]:
    function = custom_partitioning(fun)
    if not isinstance(partition, str):
        function.def_partition(partition, sharding_rule=sharding_rule)
        return function

    def on_parts(mesh: Any, arg_shapes: Any, result_shape: Any) -> Any:
        shardings = pytrees.tree_map(lambda leaf: leaf.sharding, (result_shape, arg_shapes))
        return mesh, fun, shardings[0], tuple(shardings[1])

    function.def_partition(on_parts, sharding_rule=partition)
    return function
