# SPDX-License-Identifier: Apache-2.0
"""The steps of `vectorize` that libraries import from JAX's private module."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_numpy.elementwise.vectorization import _check_outputs, _core_sizes

__all__ = ["apply_excluded", "check_output_dims", "parse_input_dimensions"]


def apply_excluded(
    func: Callable[..., Any],
    excluded: Collection[int | str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]:
    """Binds the excluded arguments to a function.

    Args:
      func: the function.
      excluded: positions and names of arguments.
      args: all positional arguments.
      kwargs: all keyword arguments.

    Returns:
      The function of the other arguments, and the other arguments.
    """
    bound = {position: arg for position, arg in enumerate(args) if position in excluded}
    bound_by_name = {name: value for name, value in kwargs.items() if name in excluded}

    def with_bound(*others: Any, **named: Any) -> Any:
        remaining = iter(others)
        positions = range(len(bound) + len(others))
        whole = [bound[i] if i in bound else next(remaining) for i in positions]
        return func(*whole, **named, **bound_by_name)

    others = [arg for position, arg in enumerate(args) if position not in bound]
    named = {name: value for name, value in kwargs.items() if name not in bound_by_name}
    return with_bound, others, named


def parse_input_dimensions(
    args: Sequence[Any], input_core_dims: Sequence[tuple[str, ...]], error_context: str = ""
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Returns the common shape of the loop dimensions, and the size of each core dimension."""
    sizes: dict[str, int] = {}
    for arg, names in zip(args, input_core_dims, strict=True):
        _core_sizes(arg.shape, names, sizes, error_context)
    loop_shapes = [
        arg.shape[: len(arg.shape) - len(names)]
        for arg, names in zip(args, input_core_dims, strict=True)
    ]
    return np.broadcast_shapes(*loop_shapes), sizes


def check_output_dims(
    func: Callable[..., Any],
    dim_sizes: Mapping[str, int],
    expected_output_core_dims: Sequence[tuple[str, ...]],
    error_context: str = "",
) -> Callable[..., Any]:
    """Returns the function with a check that its results have the expected dimensions."""

    @functools.wraps(func)
    def checked(*args: Any) -> Any:
        results = func(*args)
        _check_outputs(results, expected_output_core_dims, dict(dim_sizes), error_context)
        return results

    return checked
