# SPDX-License-Identifier: Apache-2.0
"""Policies of `checkpoint`, which select the intermediate values to save.

A policy is a function ``policy(primitive, *avals, **params)``. Its arguments describe one operation
of the checkpointed function: the primitive, the operands' types and the parameters. The policy
returns a boolean that says whether the results are saved, or `Saveable`, `Recompute` or an
`Offloadable`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_batching.tables import batching_rules
from olympus_ir import lax
from olympus_ir.adapters.partial_evaluation import partial_eval_olympuspr_custom_rules
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import AbstractValue
from olympus_ir.types.records import Record
from olympus_ir.types.typed_scalars import typed

from ..tables import jvp_rules, linear, transpose_rules

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint_name",
    "checkpoint_policies",
    "decide",
    "name_p",
]


# ---- decisions ----


class _Saveable:
    def __repr__(self) -> str:
        return "Saveable"


class _Recompute:
    def __repr__(self) -> str:
        return "Recompute"


Saveable = _Saveable()
Recompute = _Recompute()


class Offloadable(NamedTuple):
    """The decision to offload a value to another memory space until the backward pass.

    Attributes:
      src: the memory kind of the computed value, such as ``"device"``.
      dst: the memory kind of the saved value, such as ``"pinned_host"``.
    """

    src: str
    dst: str


def decide(policy: Callable[..., Any] | None, equation: Equation) -> Any:
    """Returns a policy's decision on an equation: `Saveable`, `Recompute` or an `Offloadable`."""
    rule = partial_eval_olympuspr_custom_rules.get(equation.primitive)
    if rule is not None:
        return _decision_of_rule(rule, policy, equation)
    if policy is None:
        return Recompute
    decision = policy(
        equation.primitive, *[atom.aval for atom in equation.invars], **equation.params
    )
    if decision is True:
        return Saveable
    if decision is False:
        return Recompute
    if decision is Saveable or decision is Recompute or isinstance(decision, Offloadable):
        return decision
    # Some names of `checkpoint_policies` are functions that return policies.
    repair = "; it makes policies: call it first, and pass its result" if callable(decision) else ""
    raise TypeError(
        "a checkpoint policy must return a bool, Saveable, Recompute or an Offloadable, but "
        f"{policy!r} returned {decision!r} for `{equation.primitive.name}`{repair}"
    )


def _decision_of_rule(rule: Callable[..., Any], policy: Any, equation: Equation) -> Any:
    """Returns the decision of a library's partial-evaluation rule on an equation."""
    operands = (False,) * len(equation.invars), (True,) * len(equation.invars)
    _, left, *_ = rule(policy or nothing_saveable, *operands, equation)
    return Saveable if left is None else Recompute


# ---- names ----

name_p = Primitive("name")


@name_p.def_abstract_eval
def _name_type(x: AbstractValue, *, name: str) -> AbstractValue:
    return x


expansion_rules.define(name_p, lambda x, *, name: x)
batching_rules.define(
    name_p,
    lambda axis_size, args, batch_dims, *, name: (name_p.bind(*args, name=name), *batch_dims),
)
jvp_rules.define(name_p, linear)
transpose_rules.define(name_p, lambda cotangent, x, *, name: [cotangent])


def checkpoint_name(x: Any, name: str) -> Any:
    """Names a value. Policies of `checkpoint` can refer to the name.

    Args:
      x: an array or a pytree of arrays.
      name: the text by which policies refer to the value.

    Returns:
      The same values.

    Raises:
      TypeError: ``name`` is not a string.

    Example:
      >>> checkpoint_name(1.0, "scale")
      TypedFloat(1.0, dtype=float32)
    """
    if not isinstance(name, str):
        raise TypeError(
            f"checkpoint_name: `name` must be a string, got {name!r}; write "
            "checkpoint_name(x, 'name')"
        )
    return pytrees.tree_map(lambda leaf: _named(leaf, name), x)


def _named(leaf: Any, name: str) -> Any:
    if current.trace is evaluation_trace:
        return typed(leaf)
    return name_p.bind(leaf, name=name)


# ---- policies ----


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Returns True, to save every intermediate value, as without `checkpoint`."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Returns False, to save no intermediate value, as without a policy."""
    return False


class DotsSaveable(Record):
    """Policy that saves the results of contractions, which are expensive to recompute.

    Attributes:
      only_if_no_batch_dims: whether to recompute batched products, which are cheaper.
    """

    only_if_no_batch_dims: bool

    def __init__(self, only_if_no_batch_dims: bool = False) -> None:
        super().__init__(only_if_no_batch_dims=only_if_no_batch_dims)

    def __call__(self, prim: Primitive, *args: Any, **params: Any) -> bool:
        if prim is not lax.dot_general_p:
            return False
        _, (x_batch, y_batch) = params["dimension_numbers"]
        return not self.only_if_no_batch_dims or not (x_batch or y_batch)


class SaveOnlyTheseNames(Record):
    """Policy that saves the values with one of these names; see `checkpoint_name`."""

    saveable_names: frozenset[str]

    def __init__(self, saveable_names: frozenset[str]) -> None:
        super().__init__(saveable_names=saveable_names)

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        return primitive is name_p and params["name"] in self.saveable_names


class SaveAnyNamesButThese(Record):
    """Policy that saves the values that have a name other than these."""

    names: frozenset[str]

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(names=names)

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        return primitive is name_p and params["name"] not in self.names


class SaveAnythingExceptTheseNames(Record):
    """Policy that saves all values except those with one of these names."""

    names: frozenset[str]

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(names=names)

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        return not (primitive is name_p and params["name"] in self.names)


class SaveFromBothPolicies(Record):
    """Policy that saves a value if at least one of two policies saves it."""

    policy_1: Callable[..., Any]
    policy_2: Callable[..., Any]

    def __init__(self, policy_1: Callable[..., Any], policy_2: Callable[..., Any]) -> None:
        super().__init__(policy_1=policy_1, policy_2=policy_2)

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> Any:
        first = self.policy_1(primitive, *avals, **params)
        if first is not False and first is not Recompute:
            return first
        return self.policy_2(primitive, *avals, **params)


class OffloadDots(Record):
    """Policy that offloads the results of unbatched contractions to another memory space."""

    offload_src: str
    offload_dst: str

    def __init__(self, offload_src: str, offload_dst: str) -> None:
        super().__init__(offload_src=offload_src, offload_dst=offload_dst)

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> Any:
        if DotsSaveable(only_if_no_batch_dims=True)(primitive, *avals, **params):
            return Offloadable(src=self.offload_src, dst=self.offload_dst)
        return Recompute


class SaveAndOffloadOnlyTheseNames(Record):
    """Policy that saves the values with some names, and offloads the values with other names."""

    names_which_can_be_saved: frozenset[str]
    names_which_can_be_offloaded: frozenset[str]
    offload_src: str
    offload_dst: str

    def __init__(
        self,
        names_which_can_be_saved: frozenset[str],
        names_which_can_be_offloaded: frozenset[str],
        offload_src: str,
        offload_dst: str,
    ) -> None:
        super().__init__(
            names_which_can_be_saved=names_which_can_be_saved,
            names_which_can_be_offloaded=names_which_can_be_offloaded,
            offload_src=offload_src,
            offload_dst=offload_dst,
        )

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> Any:
        if primitive is not name_p:
            return Recompute
        if params["name"] in self.names_which_can_be_saved:
            return Saveable
        if params["name"] in self.names_which_can_be_offloaded:
            return Offloadable(src=self.offload_src, dst=self.offload_dst)
        return Recompute


def save_only_these_names(*names_which_can_be_saved: str) -> SaveOnlyTheseNames:
    """Returns a policy that saves the values with the given names; see `checkpoint_name`."""
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_any_names_but_these(*names_not_to_save: str) -> SaveAnyNamesButThese:
    """Returns a policy that saves the values that have a name other than the given names."""
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_anything_except_these_names(*names_not_to_save: str) -> SaveAnythingExceptTheseNames:
    """Returns a policy that saves all values except those with the given names."""
    return SaveAnythingExceptTheseNames(frozenset(names_not_to_save))


def save_from_both_policies(
    policy_1: Callable[..., Any], policy_2: Callable[..., Any]
) -> SaveFromBothPolicies:
    """Returns a policy that saves a value if at least one of two policies saves it."""
    return SaveFromBothPolicies(policy_1, policy_2)


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> OffloadDots:
    """Returns a policy that offloads the results of unbatched products to another memory space."""
    return OffloadDots(offload_src, offload_dst)


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> SaveAndOffloadOnlyTheseNames:
    """Returns a policy that saves values with some names, and offloads values with other names.

    Raises:
      ValueError: a name is in both lists.
    """
    saved = frozenset(names_which_can_be_saved)
    offloaded = frozenset(names_which_can_be_offloaded)
    if saved & offloaded:
        raise ValueError(
            "The names should be exclusive and should not intersect in `names_which_can_be_saved` "
            f"and `names_which_can_be_offloaded`, but both have {sorted(saved & offloaded)}"
        )
    return SaveAndOffloadOnlyTheseNames(saved, offloaded, offload_src, offload_dst)


dots_saveable = DotsSaveable(only_if_no_batch_dims=False)
dots_with_no_batch_dims_saveable = DotsSaveable(only_if_no_batch_dims=True)

checkpoint_policies = types.SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)
