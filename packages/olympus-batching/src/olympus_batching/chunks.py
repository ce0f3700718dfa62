# SPDX-License-Identifier: Apache-2.0
"""`vmap` over chunks: a loop, each step of which computes one chunk of the examples."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation, Literal, Olympuspr, Var, olympusprs_in_params
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval, is_valid_value

from .axes import VmapOptions, flat_axes
from .dimensions import BatchDim, move_dim, to_front

__all__ = ["ChunkSize", "Examples", "call_in_chunks", "check_chunk_size"]

ChunkSize = int | str | None

# The memory in bytes that the intermediate values of an automatic chunk may take.
AUTOMATIC_BYTES = 256 * 2**20


class Examples(NamedTuple):
    """The arguments of a mapped function.

    Attributes:
      leaves: the leaves of ``(args, kwargs)``.
      tree: the structure of ``(args, kwargs)``.
      dims: the batch dimension of each leaf.
      size: the number of examples.
    """

    leaves: list[Any]
    tree: Any
    dims: list[BatchDim]
    size: int


def check_chunk_size(chunk_size: Any, options: VmapOptions) -> None:
    """Raises ValueError if ``chunk_size`` is invalid or conflicts with the other options."""
    if chunk_size is None:
        return
    if isinstance(chunk_size, str):
        is_valid = chunk_size == "auto"
    else:
        is_valid = not isinstance(chunk_size, bool) and _integer(chunk_size) > 0
    if not is_valid:
        raise ValueError(
            f"vmap got chunk_size={chunk_size!r}; it must be a positive integer, 'auto' or None."
        )
    if options.axis_name is not None or options.sum_match:
        name = "sum_match" if options.axis_name is None else f"axis_name={options.axis_name!r}"
        raise ValueError(
            f"vmap got both chunk_size={chunk_size!r} and {name}, but an operation over all "
            "examples would need the examples of other chunks. Leave one of the two out."
        )


def _integer(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        return 0


def call_in_chunks(
    vmap: Callable[..., Any],
    fun: Callable[..., Any],
    options: VmapOptions,
    chunk_size: int | str,
    examples: Examples,
    bodies: dict[Any, Any],
) -> Any:
    """Calls a function on all examples, a chunk of them at a time.

    Args:
      vmap: the transformation that computes a chunk.
      fun: the function of one example.
      options: the options of the mapped function.
      chunk_size: the number of examples in a chunk, less than the number of all examples, or
        ``"auto"``.
      examples: the arguments.
      bodies: the loop bodies of earlier calls. Reusing a body avoids tracing it again.

    Returns:
      The result of `vmap`.
    """
    leaves, tree, dims, size = examples
    chunk = _automatic_size(fun, examples) if isinstance(chunk_size, str) else int(chunk_size)
    chunk = _fitting_size(size, min(chunk, size))
    # Only arrays can be operands of the loop. The loop body closes over other shared values.
    fixed = {
        position: leaf
        for position, (leaf, dim) in enumerate(zip(leaves, dims, strict=True))
        if dim is None and not is_valid_value(leaf)
    }
    shared = [
        leaf
        for position, (leaf, dim) in enumerate(zip(leaves, dims, strict=True))
        if dim is None and position not in fixed
    ]
    mapped = [
        to_front(leaf, dim) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None
    ]
    key = (tree, tuple(dims))
    body = None if fixed else bodies.get(key)
    if body is None:
        body = _body(vmap, fun, options, tree, dims, fixed)
        if not fixed:
            bodies[key] = body
    count, rest = divmod(size, chunk)
    whole = count * chunk
    pieces = [lax.reshape(_rows(x, 0, whole), (count, chunk, *x.shape[1:])) for x in mapped]
    _, stacked = lax.scan(body, shared, pieces, length=count)
    last = body(shared, [_rows(x, whole, size) for x in mapped])[1] if rest else None
    return _joined(stacked, last, options.out_axes)


def _body(
    vmap: Callable[..., Any],
    fun: Callable[..., Any],
    options: VmapOptions,
    tree: Any,
    dims: Sequence[BatchDim],
    fixed: dict[int, Any],
) -> Callable[[list[Any], list[Any]], tuple[list[Any], Any]]:
    """Returns the loop body, which computes one chunk.

    The body takes the leaves that all examples share, and the leaves of the examples in the chunk.
    It closes over the leaves in ``fixed``, by position, which are not arrays.
    """
    positions = [position for position in range(len(dims)) if position not in fixed]

    def of_leaves(*operands: Any) -> Any:
        leaves = {**fixed, **dict(zip(positions, operands, strict=True))}
        leaves = [leaves[position] for position in range(len(dims))]
        args, kwargs = pytrees.tree_unflatten(tree, leaves)
        return fun(*args, **kwargs)

    in_front = pytrees.tree_map(lambda _: 0, options.out_axes)
    of_chunk = vmap(
        of_leaves,
        in_axes=tuple(None if dims[position] is None else 0 for position in positions),
        out_axes=in_front,
        spmd_axis_name=options.spmd_axis_name,
    )

    def body(shared: list[Any], mapped: list[Any]) -> tuple[list[Any], Any]:
        rest, chunk = iter(shared), iter(mapped)
        return shared, of_chunk(*(next(rest if dims[p] is None else chunk) for p in positions))

    return body


def _fitting_size(size: int, most: int) -> int:
    """Heuristic: returns a chunk size, given that memory holds ``most`` of ``size`` examples.

    The compiler allocates memory for the loop and for the shorter last chunk separately. The
    largest size above ``most // 2`` is chosen for which a chunk and the last chunk fit in memory
    together. If there is no such size, the size is chosen for which the two chunks are smallest.
    """
    sizes = range(most, most // 2, -1)
    return next(
        (chunk for chunk in sizes if chunk + size % chunk <= most),
        min(sizes, key=lambda chunk: chunk + size % chunk),
    )


def _rows(x: Any, start: int, stop: int) -> Any:
    if start == 0 and stop == x.shape[0]:
        return x
    return lax.slice_in_dim(x, start, stop)


def _joined(stacked: Any, last: Any, out_axes: Any) -> Any:
    """Concatenates the stacked results of full chunks and the results of the shorter last chunk."""
    leaves, tree = pytrees.tree_flatten(stacked)
    targets = flat_axes("vmap out_axes", tree, out_axes)
    remaining = pytrees.tree_leaves(last) if last is not None else [None] * len(leaves)
    results = []
    for chunks, end, target in zip(leaves, remaining, targets, strict=True):
        if target is None:  # the result is the same for all examples
            results.append(lax.index_in_dim(chunks, 0, keepdims=False))
            continue
        count, chunk, *shape = chunks.shape
        whole = lax.reshape(chunks, (count * chunk, *shape))
        if end is not None:
            whole = lax.concatenate([whole, end], 0)
        results.append(move_dim(whole, 0, target % whole.ndim))
    return pytrees.tree_unflatten(tree, results)


# ---- automatic sizes ----


def _automatic_size(fun: Callable[..., Any], examples: Examples) -> int:
    """Heuristic: returns the number of examples whose live values fit into `AUTOMATIC_BYTES`.

    The number is a power of two. The estimate counts the values that are live at the same time in
    the program of one example. A compiler may need less, because it fuses operations, or more,
    because it makes copies.
    """
    leaves, tree, dims, size = examples
    avals = []
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is not None:
            aval: Any = get_aval(leaf)
            shape = (*aval.shape[:dim], *aval.shape[dim + 1 :])
            avals.append(aval.update(shape=shape, sharding=None))

    def of_leaves(*mapped: Any) -> list[Any]:
        rest = iter(mapped)
        values = [leaf if dim is None else next(rest) for leaf, dim in zip(leaves, dims)]
        args, kwargs = pytrees.tree_unflatten(tree, values)
        return pytrees.tree_leaves(fun(*args, **kwargs))

    program, _ = trace_to_olympuspr(of_leaves, avals)
    fitting = max(AUTOMATIC_BYTES // max(_peak_bytes(program), 1), 1)
    return min(1 << (fitting.bit_length() - 1), max(size, 1))


def _peak_bytes(program: Olympuspr) -> int:
    """Returns the largest number of bytes of equation results that are live at the same time."""
    last_use: dict[Any, int] = {}
    for position, equation in enumerate(program.eqns):
        last_use.update((atom, position) for atom in equation.invars if isinstance(atom, Var))
    last_use.update((atom, len(program.eqns)) for atom in program.outvars if isinstance(atom, Var))
    ends: dict[int, int] = {}
    alive = peak = 0
    for position, equation in enumerate(program.eqns):
        made = 0
        for var in equation.outvars:
            size = _bytes_of(var)
            made += size
            end = max(last_use.get(var, position), position)
            ends[end] = ends.get(end, 0) + size
        alive += made
        peak = max(peak, alive + _inner_peak(equation))
        alive -= ends.pop(position, 0)
    return peak


def _inner_peak(equation: Equation) -> int:
    return max((_peak_bytes(inner) for inner in olympusprs_in_params(equation.params)), default=0)


def _bytes_of(atom: Any) -> int:
    aval = atom.aval
    if isinstance(atom, Literal) or not hasattr(aval, "size"):
        return 0
    return aval.size * getattr(aval.dtype, "itemsize", 8)
