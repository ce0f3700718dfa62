# SPDX-License-Identifier: Apache-2.0
"""Checks of programs and of the errors of functions."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import olympus
from olympus.lax import dot_general_p
from olympus_ir.programs.olympuspr import subolympusprs

__all__ = [
    "assert_dot_precision",
    "assert_dot_preferred_element_type",
    "check_raises",
    "check_raises_regexp",
    "fwd_bwd_olympusprs",
    "iter_eqns",
]


def iter_eqns(olympuspr: Any) -> Iterator[Any]:
    """Yields the equations of a program and of the programs in their parameters."""
    yield from olympuspr.eqns
    for inner in subolympusprs(olympuspr):
        yield from iter_eqns(inner)


def _products(fun: Callable[..., Any], args: tuple) -> list[dict[str, Any]]:
    """Returns the parameters of all products of a function's program."""
    program = olympus.make_olympuspr(fun)(*args)
    equations = iter_eqns(program.jaxpr)
    return [equation.params for equation in equations if equation.primitive is dot_general_p]


def assert_dot_precision(expected_precision: Any, fun: Callable[..., Any], *args: Any) -> None:
    """Compares the precision of all products of a function with the expected one.

    Raises:
      AssertionError: a precision differs.
    """
    for params in _products(fun, args):
        found = params["precision"]
        for precision in found if isinstance(found, tuple) else (found,):
            assert precision == expected_precision, (
                f"Unexpected precision: {expected_precision} != {found}"
            )


def assert_dot_preferred_element_type(
    expected: Any, fun: Callable[..., Any], *args: Any, **kwargs: Any
) -> None:
    """Compares the dtype in which all products of a function sum up with the expected one.

    Raises:
      AssertionError: a dtype differs.
    """
    for params in _products(functools.partial(fun, **kwargs), args):
        found = params["preferred_element_type"]
        assert expected == found, f"Unexpected preferred_element_type: {expected} != {found}"


def _raised(thunk: Callable[[], Any], kind: type[BaseException]) -> str:
    try:
        thunk()
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} was not raised")


def check_raises(thunk: Callable[[], Any], err_type: type[BaseException], msg: str) -> None:
    """Calls a function that must raise an error whose message begins with a text.

    Raises:
      AssertionError: the function does not raise the error.
    """
    said = _raised(thunk, err_type)
    assert said.startswith(msg), f"{said!r} does not begin with {msg!r}"


def check_raises_regexp(
    thunk: Callable[[], Any], err_type: type[BaseException], pattern: str
) -> None:
    """Calls a function that must raise an error whose message begins with a pattern.

    Raises:
      AssertionError: the function does not raise the error.
    """
    said = _raised(thunk, err_type)
    assert re.match(pattern, said), f"{said!r} does not match {pattern!r}"


def fwd_bwd_olympusprs(f: Callable[..., Any], *example_args: Any) -> tuple[Any, Any]:
    """Returns the programs of a function's forward and backward pass.

    The forward pass also returns the residuals, which the backward pass takes.
    """
    forward, (out, pullback) = olympus.make_olympuspr(
        lambda *args: olympus.vjp(f, *args), return_shape=True
    )(*example_args)
    backward = olympus.make_olympuspr(lambda pullback, out: pullback(out))(pullback, out)
    return forward, backward
