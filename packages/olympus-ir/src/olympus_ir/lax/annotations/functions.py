# SPDX-License-Identifier: Apache-2.0
"""Annotations for the compiler: attributes, compute types, fusion, equal shardings."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...diagnostics.traceback_filtering import api_boundary
from ...programs.marks import MarkedBlock, attribute_text
from ...programs.staging import separate_constants, trace_to_closed
from ...trees import pytrees
from ...trees.flattening import FlatFunction, debug_info_of_tree
from ...trees.pytree_prefix import broadcast_prefix
from ...types.avals import get_aval
from ...types.memory_spaces import MemorySpace
from .compute_types import attributes_of_compute_type
from .primitives import (
    compute_on_p,
    fused_call_p,
    shard_alike_p,
    xla_metadata_call_p,
    xla_metadata_value_p,
)

__all__ = [
    "compute_on",
    "compute_on2",
    "fused",
    "scheduling_group",
    "set_xla_metadata",
    "shard_alike",
    "xla_metadata_call",
]

_NOTHING = object()


def set_xla_metadata(x: Any = _NOTHING, **kwargs: Any) -> Any:
    """Attaches attributes to operations of the compiled program.

    With a value, annotates the operation that computed the value. Without a value, returns a
    context manager that annotates all operations of a ``with`` block, or of a decorated function.

    Args:
      x: an array, or a pytree of arrays.
      **kwargs: the attributes: strings, numbers and booleans. In a block, None removes an attribute
        that an outer block has set.

    Returns:
      The value, or a context manager if no value is given.

    Example:
      >>> from olympus_ir import lax
      >>> with set_xla_metadata(group=1):
      ...     y = lax.sin(0.0)
      >>> y = set_xla_metadata(lax.cos(y), schedule="late")
    """
    if x is _NOTHING:
        return MarkedBlock(
            {
                name: None if value is None else attribute_text(value)
                for name, value in kwargs.items()
            }
        )
    attributes = tuple((name, value) for name, value in sorted(kwargs.items()))
    return pytrees.tree_map(
        lambda leaf: xla_metadata_value_p.bind(leaf, xla_metadata_kvs=attributes), x
    )


def compute_on(compute_type: str) -> MarkedBlock:
    """Selects the part of the machine that runs the operations of a block or function.

    Args:
      compute_type: ``"device_host"`` for the host's processors, ``"device"``, ``"tpu_sparsecore"``,
        or a stream of a GPU, such as ``"gpu_stream:1"``.

    Returns:
      A context manager, which is also a decorator.

    Raises:
      ValueError: if ``compute_type`` is unknown.
      TypeError: if ``compute_type`` is not a string.

    Example:
      >>> from olympus_ir import lax
      >>> @compute_on("device_host")
      ... def on_host(x):
      ...     return lax.sin(x)
    """
    return MarkedBlock(attributes_of_compute_type(compute_type))


# ---- functions that become calls ----


def _traced(name: str, f: Callable[..., Any], args: Any, kwargs: Any = None) -> Any:
    """Traces a function.

    Returns:
      The program, the operands that the function closes over, and the structure of the results.
    """
    leaves, tree = pytrees.tree_flatten((args, kwargs or {}))
    flat = FlatFunction(f, tree)
    info = debug_info_of_tree(name, f, tree)
    closed = trace_to_closed(flat, [get_aval(leaf) for leaf in leaves], info)
    constants, closed = separate_constants(closed)
    return closed, [*constants, *leaves], flat.out_tree


def compute_on2(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Makes a function run on a part of the machine.

    Args:
      f: the function; if not given, a decorator is returned.
      compute_type: the part of the machine, as in `compute_on`.
      out_memory_spaces: the `MemorySpace` of the results: one for all, or a pytree that is a prefix
        of the results.
      compiler_options: options for the compilation of the function.

    Returns:
      A function of the same arguments.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_ir.types.memory_spaces import MemorySpace
      >>> f = compute_on2(
      ...     lax.sin, compute_type="device_host", out_memory_spaces=MemorySpace.Device
      ... )
      >>> f(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    attributes = attributes_of_compute_type(compute_type)
    if f is None:
        return functools.partial(
            compute_on2,
            compute_type=compute_type,
            out_memory_spaces=out_memory_spaces,
            compiler_options=compiler_options,
        )
    function = f
    options = None if compiler_options is None else json.dumps(dict(compiler_options))

    @api_boundary
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with MarkedBlock(attributes):
            closed, operands, out_tree = _traced("compute_on", function, args, kwargs)
        results = pytrees.tree_unflatten(out_tree, closed.out_avals)
        spaces = tuple(broadcast_prefix(out_memory_spaces, results))
        outs = compute_on_p.bind(
            *operands,
            jaxpr=closed,
            compute_type=compute_type,
            out_memory_spaces=spaces,
            compiler_options_json=options,
        )
        return pytrees.tree_unflatten(out_tree, outs)

    return wrapped


def xla_metadata_call(f: Callable[..., Any] | None = None, **meta: str) -> Callable[..., Any]:
    """Makes ``f`` a separate function of the compiled program, called with the given attributes.

    Args:
      f: the function; if not given, a decorator is returned.
      **meta: the attributes of the call, as strings.

    Returns:
      A function of the same arguments.

    Raises:
      TypeError: if an attribute is not a string.

    Example:
      >>> from olympus_ir import lax
      >>> xla_metadata_call(lax.sin, inlineable="false")(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    for name, value in meta.items():
        if not isinstance(value, str):
            raise TypeError(
                f"xla_metadata_call takes attributes that are strings, got {name}={value!r}; write "
                f"{name}={attribute_text(value)!r}"
            )
    if f is None:
        return functools.partial(xla_metadata_call, **meta)
    function = f

    @api_boundary
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        closed, operands, out_tree = _traced("xla_metadata_call", function, args, kwargs)
        return pytrees.tree_unflatten(
            out_tree, xla_metadata_call_p.bind(*operands, jaxpr=closed, **meta)
        )

    return wrapped


def scheduling_group(name: str) -> Callable[..., Any]:
    """Returns a decorator that makes the compiler schedule a function's operations as one group.

    Args:
      name: the name of the group.

    Returns:
      A decorator.

    Example:
      >>> from olympus_ir import lax
      >>> scheduling_group("first")(lax.sin)(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return xla_metadata_call(scheduling_group=name)


def fused(*, out_spaces: Sequence[Any]) -> Callable[..., Any]:
    """Returns a decorator that turns a function into one fused operation.

    The compiler chooses the memory spaces of intermediate values.

    Args:
      out_spaces: the `MemorySpace` of each result, in order.

    Returns:
      A decorator.

    Raises:
      ValueError: if the number of ``out_spaces`` is not the number of results.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_ir.types.memory_spaces import MemorySpace
      >>> fused(out_spaces=(MemorySpace.Device,))(lax.sin)(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    spaces = tuple(out_spaces)

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @api_boundary
        @functools.wraps(f)
        def wrapped(*args: Any) -> Any:
            leaves, tree = pytrees.tree_flatten((args, {}))
            flat = FlatFunction(f, tree)
            info = debug_info_of_tree("fused", f, tree)
            avals = [get_aval(leaf).update(memory_space=MemorySpace.Any) for leaf in leaves]
            constants, closed = separate_constants(trace_to_closed(flat, avals, info))
            if len(spaces) != len(closed.out_avals):
                raise ValueError(
                    f"fused: out_spaces has {len(spaces)} entries for {len(closed.out_avals)} "
                    "results; give one MemorySpace for each result"
                )
            outs = fused_call_p.bind(*constants, *leaves, jaxpr=closed, out_spaces=spaces)
            return pytrees.tree_unflatten(flat.out_tree, outs)

        return wrapped

    return decorate


# ---- shardings ----


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Constrains two values to have the same sharding, and returns both.

    Args:
      x: an array or a pytree of arrays.
      y: another array or pytree of the same structure and shapes.

    Returns:
      The pair of values.

    Raises:
      ValueError: if structures or shapes differ.

    Example:
      >>> shard_alike(1.0, 2.0)
      (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    x_leaves, x_tree = pytrees.tree_flatten(x)
    y_leaves, y_tree = pytrees.tree_flatten(y)
    if x_tree != y_tree:
        raise ValueError(f"Trees should be equal. Got x_tree: {x_tree}, y_tree: {y_tree}")
    pairs = []
    for left, right in zip(x_leaves, y_leaves, strict=True):
        left_shape, right_shape = get_aval(left).shape, get_aval(right).shape
        if left_shape != right_shape:
            raise ValueError(
                "The leaves shapes of `x` and `y` should match. Got `x` leaf shape: "
                f"{left_shape}, `y` leaf shape: {right_shape}"
            )
        pairs.append(shard_alike_p.bind(left, right))
    return (
        pytrees.tree_unflatten(x_tree, [left for left, _ in pairs]),
        pytrees.tree_unflatten(y_tree, [right for _, right in pairs]),
    )
