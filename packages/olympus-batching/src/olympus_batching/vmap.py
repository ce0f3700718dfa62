# SPDX-License-Identifier: Apache-2.0
"""`vmap`, which turns a function of one example into a function of all examples at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from olympus_ir import lax
from olympus_ir.diagnostics.name_stacks import TransformationName
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.control_flow.scanning import install_vectorizer
from olympus_ir.lax.core.axes import canonical_axis
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import current, transforming
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree, result_paths
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.wrapping import update_wrapper
from olympus_ir.types.annotations import AxisName, PyTree
from olympus_ir.types.avals import get_aval
from olympus_ir.types.layouts import axes_of_entry
from olympus_ir.types.references import check_aliases

from .axes import (
    VmapOptions,
    check_axes,
    flat_axes,
    flat_in_axes,
    layout_of_axis,
    mapped_axis,
    without_redundant_spmd_name,
)
from .containers import containers, has_containers, joined, vmap_of_containers
from .dimensions import BatchAxis, BatchDim, broadcast_batch, examples, move_dim
from .trace import call_batched
from .vmappables import has_containers_with_integers, has_specs, spec_types, vmap_by_specs

if TYPE_CHECKING:
    from . import chunks
    from .chunks import ChunkSize
else:
    chunks = deferred(".chunks", milliseconds=1.0)

_VMAP = TransformationName("vmap")

Function = TypeVar("Function", bound=Callable[..., Any])


@travels
def vmap(
    fun: Function,
    in_axes: int | Sequence[Any] | None = 0,
    out_axes: PyTree = 0,
    axis_name: AxisName = None,
    axis_size: int | None = None,
    spmd_axis_name: AxisName | tuple[AxisName, ...] | None = None,
    sum_match: bool = False,
    *,
    chunk_size: int | str | None = None,
) -> Function:
    """Returns a function that maps ``fun`` over array axes, in one vectorized computation.

    Args:
      fun: the function of one example.
      in_axes: the axis of each positional argument that holds the examples. An entry is an integer,
        or None for an argument that all examples share. Negative integers count from the end. Give
        one entry for all arguments, or a tuple with one entry for each. An entry may be a tree of
        axes that is a prefix of the argument's structure. Keyword arguments are always mapped over
        axis 0.
      out_axes: the position of the axis of examples in the results, in the form of ``in_axes``.
        With None, a result must be the same for all examples.
      axis_name: a name under which collectives such as `lax.psum` find the axis.
      axis_size: the number of examples, required if no argument is mapped.
      spmd_axis_name: the mesh axis (or a tuple of them) over which the examples are laid out.
      sum_match: whether a result with ``out_axes`` None may differ between examples. Such a result
        is summed over the examples.
      chunk_size: the largest number of examples that are computed at once, in a loop over chunks;
        the last chunk may be smaller. Temporary values then need the memory of that many examples.
        With ``"auto"``, a heuristic chooses the number of examples that need about 256 MiB. With
        None, all examples are computed at once.

    Returns:
      The mapped function.

    Raises:
      TypeError: ``fun`` is not callable, or axes are not integers, None or trees of them.
      ValueError: on the call, mapped axes differ in size or do not exist. ``chunk_size`` is no
        positive integer, or is given with ``axis_name`` or ``sum_match``.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> xs = np.ones((3, 4), np.float32)
      >>> row_sums = vmap(lambda row: lax.reduce_sum(row, (0,)))
      >>> row_sums(xs).shape
      (3,)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}")
    options = VmapOptions(
        # The arguments form a tuple, so a list of axes could never be a prefix of their structure.
        tuple(in_axes) if isinstance(in_axes, list) else in_axes,
        out_axes,
        axis_name,
        axis_size,
        spmd_axis_name,
        sum_match,
    )
    if spec_types and (has_specs(in_axes) or has_specs(out_axes)):
        return vmap_by_specs(vmap, fun, options)  # type: ignore[return-value]
    _check_options(options)
    if chunk_size is not None:
        chunks.check_chunk_size(chunk_size, options)
    mapped = _MappedFunction(fun, options, chunk_size)

    @api_boundary
    def vmap_f(*args: Any, **kwargs: Any) -> Any:
        if containers and has_containers((args, kwargs)):
            return vmap_of_containers(vmap, fun, options, args, kwargs)
        if spec_types and has_containers_with_integers((args, kwargs)):
            return vmap_by_specs(vmap, fun, options)(*args, **kwargs)
        return mapped.call(args, kwargs)

    _imitate(vmap_f, fun)
    return vmap_f  # type: ignore[return-value]


def _check_options(options: VmapOptions) -> None:
    """Raises TypeError if ``in_axes`` or ``out_axes`` are not axes or trees of axes."""
    in_axes = options.in_axes
    if not (in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}."
        )
    check_axes("in_axes", in_axes)
    check_axes("out_axes", options.out_axes)


class _MappedFunction:
    """A mapped function with its options. The axes are flattened once for each tree structure."""

    __slots__ = (
        "bodies_of_chunks",
        "chunk_size",
        "fun",
        "in_axes_of_tree",
        "options",
        "out_axes_of_tree",
    )

    def __init__(
        self, fun: Callable[..., Any], options: VmapOptions, chunk_size: ChunkSize = None
    ) -> None:
        self.fun = fun
        self.options = options
        self.chunk_size = chunk_size
        self.bodies_of_chunks: dict[Any, Any] = {}
        self.in_axes_of_tree: dict[Any, list[Any]] = {}
        self.out_axes_of_tree: dict[Any, list[Any]] = {}

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the function on all examples."""
        if current.counts_sizes:
            return self._call_with_counts(args, kwargs)
        return self._call(args, kwargs)

    def _call_with_counts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the function where the sizes of results depend on masks; see `counted_sizes`.

        If the mask is batched, calls a function that counts and pads each example by itself.
        """
        try:
            return self._call(args, kwargs)
        except NotImplementedError as error:
            by_example = getattr(error, "by_example", None)
            if by_example is None:
                raise
        padded = _MappedFunction(by_example(self.fun), self.options, self.chunk_size)
        return padded._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        fun, options = self.fun, self.options
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        in_dims = self.in_axes_of_tree.get(in_tree)
        if in_dims is None:
            in_dims = flat_in_axes(options.in_axes, in_tree, args, kwargs)
            self.in_axes_of_tree[in_tree] = in_dims
        size, dims = mapped_axis(fun, in_tree, leaves, in_dims, options.axis_size)
        chunk_size = self.chunk_size
        if chunk_size is not None and any(dim is not None for dim in dims):
            if chunk_size == "auto" or size > int(chunk_size):
                examples = chunks.Examples(leaves, in_tree, dims, size)
                return chunks.call_in_chunks(
                    vmap, fun, options, chunk_size, examples, self.bodies_of_chunks
                )
        flat = FlatFunction(fun, in_tree)
        axis = BatchAxis(
            size, options.axis_name, options.spmd_axis_name, layout_of_axis(leaves, dims)
        )
        if axis.layout is not None and axis.spmd_name is not None:
            axis = without_redundant_spmd_name(axis)
        if any(getattr(type(leaf), "is_ref", False) for leaf in leaves):
            check_aliases(debug_info_of_tree("vmap", fun, in_tree), (), leaves)
        outs, out_dims = _call_on_examples(flat, axis, leaves, dims, fun)
        results = self.with_out_axes(outs, out_dims, flat.out_tree, axis)
        tree = pytrees.tree_unflatten(flat.out_tree, results)
        return joined(tree, self.out_axes_of_tree[flat.out_tree], size) if containers else tree

    def with_out_axes(
        self, outs: Sequence[Any], out_dims: Sequence[BatchDim], out_tree: Any, axis: BatchAxis
    ) -> list[Any]:
        """Returns the results with their batch dimensions at the positions in ``out_axes``.

        Raises:
          ValueError: a result is batched and its ``out_axes`` is None.
        """
        options = self.options
        targets = self.out_axes_of_tree.get(out_tree)
        if targets is None:
            targets = flat_axes("vmap out_axes", out_tree, options.out_axes)
            self.out_axes_of_tree[out_tree] = targets
        return [
            out
            if dim is not None and dim == target
            else _with_out_axis(out, axis, dim, target, options, out_tree, position)
            for position, (out, dim, target) in enumerate(zip(outs, out_dims, targets, strict=True))
        ]


def _call_on_examples(
    flat: FlatFunction, axis: BatchAxis, leaves: Sequence[Any], dims: Sequence[BatchDim], fun: Any
) -> tuple[list[Any], list[BatchDim]]:
    """Calls a function on the leaves of all examples, while the mesh axes of ``axis`` are set."""
    saved, saved_spmd = examples.axes, examples.spmd_axes
    if axis.layout is not None:
        examples.axes = saved + axes_of_entry(axis.layout[1])
    if axis.spmd_name is not None:
        examples.spmd_axes = saved_spmd + axes_of_entry(axis.spmd_name)
    try:
        with transforming(_VMAP):
            return call_batched(flat, axis, leaves, dims, fun)
    finally:
        examples.axes, examples.spmd_axes = saved, saved_spmd


def _imitate(wrapper: Any, fun: Any) -> None:
    """Gives the wrapper the function's name, documentation and signature."""
    update_wrapper(wrapper, fun, updated=())
    name = getattr(fun, "__name__", None)
    if name is not None:
        wrapper.__doc__ = (
            f"Vectorized version of {name}. Takes similar arguments as {name} but with additional "
            f"array axes over which {name} is mapped."
        )
        if fun.__doc__:
            wrapper.__doc__ += f"\n\nOriginal documentation:\n\n{fun.__doc__}"


# ---- results ----


def _with_out_axis(
    out: Any,
    axis: BatchAxis,
    dim: BatchDim,
    target: int | None,
    options: VmapOptions,
    out_tree: Any,
    position: int,
) -> Any:
    """Returns one result with its batch dimension at ``target``."""
    if dim is None:
        ndim = _output_ndim(out)
        if target is None:
            return out
        saved, examples.layout = examples.layout, axis.layout
        try:
            return broadcast_batch(out, axis.size, canonical_axis(target, ndim + 1))
        finally:
            examples.layout = saved
    if target is not None:
        return move_dim(out, dim, canonical_axis(target, out.ndim))
    if options.sum_match:
        return lax.reduce_sum(out, (dim,))
    if axis.name is not None:
        raise ValueError(
            f"vmap has mapped output (axis_name={axis.name}) but out_axes is None: the output was "
            f"batched on axis {dim}. Say in `out_axes` which axis holds the examples, or return a "
            "value that is the same for all of them."
        )
    path = ""
    if options.out_axes is not None:
        path = result_paths(out_tree)[position].removeprefix("result")
    raise ValueError(
        f"at vmap out_axes{path}, got axis spec None but output was batched on axis {dim}. Say in "
        "`out_axes` which axis holds the examples, or return a value that is the same for all of "
        "them."
    )


def _output_ndim(out: Any) -> int:
    try:
        return get_aval(out).ndim  # type: ignore[attr-defined]
    except TypeError as error:
        raise TypeError(
            f"Output from batched function {out!r} with type {type(out)} is not a valid "
            f"{naming.library} type"
        ) from error


# `lax.map` computes batches with `vmap`, but lies in a layer below it.
install_vectorizer(vmap)
