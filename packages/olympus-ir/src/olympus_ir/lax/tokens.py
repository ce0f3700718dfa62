# SPDX-License-Identifier: Apache-2.0
"""Values without data: tokens order operations, and sinks keep values alive."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..programs.primitives import instruction
from ..trees import pytrees
from ..types.annotations import PyTree
from ..types.avals import AbstractToken, AbstractValue, abstract_token, register_value_type
from ..types.effects import (
    Effect,
    checkpoint_allowed_effects,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    lowerable_effects,
    no_effects,
)

__all__ = [
    "Token",
    "after_all",
    "after_all_p",
    "create_token",
    "create_token_p",
    "dce_sink",
    "dce_sink_p",
]


class Token:
    """Concrete token, which `create_token` returns outside of tracing.

    Args:
      buf: an array that becomes available when the operation that made the token has finished.
    """

    __slots__ = ("_buf",)

    def __init__(self, buf: Any) -> None:
        self._buf = buf

    def block_until_ready(self) -> None:
        """Waits until the operation that made the token has finished."""
        wait = getattr(self._buf, "block_until_ready", None)
        if wait is not None:
            wait()


register_value_type(Token, lambda token: abstract_token)

create_token_p = instruction("create_token", family="tokens")
after_all_p = instruction("after_all", family="tokens")
dce_sink_p = instruction("dce_sink", family="tokens", multiple_results=True)


class NoDceEffect(Effect):
    """Effect that keeps an equation without results in the program."""

    def __repr__(self) -> str:
        return "NoDCE"


no_dce_effect = NoDceEffect()
for _effects in (
    lowerable_effects,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    checkpoint_allowed_effects,
):
    _effects.add_type(NoDceEffect)


@create_token_p.def_abstract_eval
def _create_token_type() -> AbstractValue:
    return abstract_token


def _check_tokens(operands: tuple[Any, ...], kind: type[Any]) -> None:
    for position, operand in enumerate(operands):
        if not isinstance(operand, kind):
            raise TypeError(
                "Arguments to after_all must be tokens, got "
                f"{getattr(operand, 'aval', operand)} at position {position}. "
                "Make them by create_token or after_all."
            )


@after_all_p.def_abstract_eval
def _after_all_type(*tokens: AbstractValue) -> AbstractValue:
    _check_tokens(tokens, AbstractToken)
    return abstract_token


@dce_sink_p.def_effectful_abstract_eval
def _dce_sink_types(
    *operands: AbstractValue, prevent_mlir_dce: bool
) -> tuple[tuple[AbstractValue, ...], frozenset]:
    return (), no_effects | {no_dce_effect}


# Outside of tracing, operations run in order and none is removed, so tokens need no data and sinks
# do nothing.


def _new_token() -> Token:
    return Token(np.zeros((0,), np.bool_))


def _after_all(*tokens: Token) -> Token:
    _check_tokens(tokens, Token)
    for token in tokens:
        token.block_until_ready()
    return _new_token()


create_token_p.def_impl(_new_token)
after_all_p.def_impl(_after_all)
dce_sink_p.def_impl(lambda *operands, **params: [])


def create_token(_: Any = None) -> Any:
    """Creates a token that depends on nothing.

    Args:
      _: ignored.

    Returns:
      A token.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> make_olympuspr(lambda: lax.create_token())()
      { lambda ; . let a:Tok = create_token  in (a,) }
    """
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """Returns a token that becomes available after all of the given tokens.

    Args:
      *operands: tokens.

    Returns:
      A token.

    Raises:
      TypeError: if an operand is not a token.

    Example:
      >>> import olympus
      >>> token = after_all(olympus.lax.create_token(), olympus.lax.create_token())
    """
    return after_all_p.bind(*operands)


def dce_sink(val: PyTree, *, prevent_mlir_dce: bool = False) -> None:
    """Keeps values in the program even if nothing uses them.

    Args:
      val: an array or a pytree of arrays.
      prevent_mlir_dce: whether the compiler must keep the values, too.

    Example:
      >>> import olympus
      >>> program = olympus.make_olympuspr(lambda x: dce_sink(x + 1))(2)
      >>> [str(each.primitive) for each in program.eqns]
      ['add', 'dce_sink']
    """
    leaves = pytrees.tree_leaves(val)
    dce_sink_p.bind(*leaves, prevent_mlir_dce=bool(prevent_mlir_dce))
