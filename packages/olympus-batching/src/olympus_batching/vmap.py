# SPDX-License-Identifier: Apache-2.0
"""`vmap`: a function of one example as a function of all examples at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from olympus_ir import lax
from olympus_ir.diagnostics.source_info import TransformationName
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.control_flow.scanning import install_vectorizer
from olympus_ir.programs.tracing import transforming
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree, result_paths
from olympus_ir.trees.pytree_prefix import specification_mismatch
from olympus_ir.trees.wrapping import update_wrapper
from olympus_ir.types.avals import get_aval
from olympus_ir.types.layouts import axes_of_entry, entries_of
from olympus_ir.types.references import check_aliases

from .containers import containers, has_containers, joined, split
from .dimensions import BatchAxis, BatchDim, broadcast_batch, examples, move_dim
from .trace import call_batched
from .vmappables import has_containers_with_integers, has_specs, spec_types, vmap_by_specs

_VMAP = TransformationName("vmap")

Function = TypeVar("Function", bound=Callable[..., Any])


def vmap(
    fun: Function,
    in_axes: int | Sequence[Any] | None = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Function:
    """Returns a function that maps ``fun`` over array axes, in one vectorised computation.

    Args:
      fun: the function of one example.
      in_axes: which axis of each positional argument holds the examples: an integer, negative ones
        counting from the end, or None for an argument that all examples share. One entry for all
        arguments, or a tuple with an entry each; an entry may be a tree of such, a prefix of the
        argument's structure. Keyword arguments are always mapped over axis 0.
      out_axes: where the axis of examples goes in the results, likewise. With None, a result must
        be the same for all examples.
      axis_name: a name under which collectives such as `lax.psum` find the axis.
      axis_size: the number of examples, where no argument tells.
      spmd_axis_name: the mesh axis (or a tuple of them) over which the examples are laid out.
      sum_match: whether a result that differs between examples is summed over them where
        ``out_axes`` says None.

    Returns:
      The mapped function.

    Raises:
      TypeError: where ``fun`` is not callable, or axes are not integers, None or trees of them.
      ValueError: on the call, where mapped axes differ in size or do not exist.

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

    def by_specs() -> Callable[..., Any]:
        names = {"spmd_axis_name": spmd_axis_name, "sum_match": sum_match}
        return vmap_by_specs(vmap, fun, in_axes, out_axes, axis_name, axis_size, **names)

    if spec_types and (has_specs(in_axes) or has_specs(out_axes)):
        return by_specs()  # type: ignore[return-value]
    if isinstance(in_axes, list):
        # Arguments are a tuple, so a list of axes could never be a prefix of them.
        in_axes = tuple(in_axes)
    if not (in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}."
        )
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)
    # From the structure of arguments (of results) to the flat axes.
    in_axes_of_tree: dict[Any, list[Any]] = {}
    out_axes_of_tree: dict[Any, list[Any]] = {}

    @api_boundary
    def vmap_f(*args: Any, **kwargs: Any) -> Any:
        if containers and has_containers((args, kwargs)):
            return vmap_containers(args, kwargs)
        if spec_types and has_containers_with_integers((args, kwargs)):
            return by_specs()(*args, **kwargs)
        leaves, in_tree = pytrees.tree_flatten((args, kwargs))
        in_dims = in_axes_of_tree.get(in_tree)
        if in_dims is None:
            in_dims = in_axes_of_tree[in_tree] = _flat_in_axes(in_axes, in_tree, args, kwargs)
        size, dims = _mapped_axis(fun, in_tree, leaves, in_dims, axis_size)
        flat = FlatFunction(fun, in_tree)
        axis = BatchAxis(size, axis_name, spmd_axis_name, _layout_of_axis(leaves, dims))
        if axis.layout is not None and spmd_axis_name is not None:
            axis = _with_spmd_name(axis)
        if any(getattr(leaf, "is_ref", False) for leaf in leaves):
            check_aliases(debug_info_of_tree("vmap", fun, in_tree), (), leaves)
        saved, saved_spmd = examples.axes, examples.spmd_axes
        if axis.layout is not None:
            examples.axes = saved + axes_of_entry(axis.layout[1])
        if axis.spmd_name is not None:
            examples.spmd_axes = saved_spmd + axes_of_entry(axis.spmd_name)
        try:
            with transforming(_VMAP):
                outs, out_dims = call_batched(flat, axis, leaves, dims, fun)
        finally:
            examples.axes, examples.spmd_axes = saved, saved_spmd
        out_tree = flat.out_tree
        wanted = out_axes_of_tree.get(out_tree)
        if wanted is None:
            wanted = out_axes_of_tree[out_tree] = _flat_axes("vmap out_axes", out_tree, out_axes)
        results = [
            out
            if dim is not None and dim == target
            else _placed(out, axis, dim, target, sum_match, out_axes, out_tree, position)
            for position, (out, dim, target) in enumerate(zip(outs, out_dims, wanted, strict=True))
        ]
        tree = pytrees.tree_unflatten(out_tree, results)
        return joined(tree, wanted, size) if containers else tree

    def vmap_containers(args: tuple, kwargs: dict[str, Any]) -> Any:
        """The same where containers are among the arguments."""
        arrays, axes, structure = split(
            args, kwargs, lambda in_tree: _flat_in_axes(in_axes, in_tree, args, kwargs)
        )

        def of_arrays(*given: Any) -> Any:
            example_args, example_kwargs = pytrees.tree_unflatten(structure, given)
            return fun(*example_args, **example_kwargs)

        return vmap(
            of_arrays,
            in_axes=tuple(axes),
            out_axes=out_axes,
            axis_name=axis_name,
            axis_size=axis_size,
            spmd_axis_name=spmd_axis_name,
            sum_match=sum_match,
        )(*arrays)

    _imitate(vmap_f, fun)
    return vmap_f  # type: ignore[return-value]


def _imitate(wrapper: Any, fun: Any) -> None:
    """Gives the wrapper the function's name, documentation and signature, where it has them."""
    update_wrapper(wrapper, fun, updated=())
    name = getattr(fun, "__name__", None)
    if name is not None:
        wrapper.__doc__ = (
            f"Vectorized version of {name}. Takes similar arguments as {name} but with additional "
            f"array axes over which {name} is mapped."
        )
        if fun.__doc__:
            wrapper.__doc__ += f"\n\nOriginal documentation:\n\n{fun.__doc__}"


# ---- axes ----


def _check_axes(name: str, axes: Any) -> None:
    for leaf in pytrees.tree_leaves(axes):
        if not isinstance(leaf, int):
            raise TypeError(
                f"vmap {name} must be an int, None, or (nested) container with those types as "
                f"leaves, but got {axes}."
            )


def _flat_in_axes(in_axes: Any, in_tree: Any, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
    """One axis a leaf of ``(args, kwargs)``."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional arguments passed to the function, but got "
            f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
        )
    args_tree, kwargs_tree = in_tree.children()
    return _flat_axes("vmap in_axes", args_tree, in_axes) + [0] * kwargs_tree.num_leaves


def _flat_axes(name: str, tree: Any, axes: Any) -> list[Any]:
    """One axis a leaf of ``tree``, of which ``axes`` is a prefix.

    Raises:
      ValueError: where it is no prefix.
    """
    if axes is None or type(axes) is int:
        return [axes] * tree.num_leaves
    full = pytrees.tree_unflatten(tree, [object()] * tree.num_leaves)
    try:
        return pytrees.spread_prefix(axes, full, is_leaf=lambda axis: axis is None)
    except ValueError:
        raise specification_mismatch(name, axes, full, lambda axis: axis is None) from None


def _mapped_axis(
    fun: Any, in_tree: Any, leaves: Sequence[Any], axes: Sequence[Any], axis_size: int | None
) -> tuple[int, list[BatchDim]]:
    """The number of examples, and the mapped dimension of each leaf, counted from the front."""
    dims: list[BatchDim] = []
    size = axis_size
    consistent = True
    for leaf, axis in zip(leaves, axes, strict=True):
        if axis is None:  # passed on as it is, whatever it is
            dims.append(None)
            continue
        try:
            shape = leaf.shape
        except AttributeError:
            shape = _shape(leaf)
        ndim = len(shape)
        if not -ndim <= axis < ndim:
            _raise_no_axis(fun, in_tree, leaves, len(dims), axis, shape)
        dim = axis if axis >= 0 else axis + ndim
        dims.append(dim)
        if size is None:
            size = shape[dim]
        elif shape[dim] != size:
            consistent = False
    if not consistent:
        _raise_inconsistent(fun, in_tree, leaves, dims, axis_size)
    if size is None:
        if not leaves:
            args, kwargs = pytrees.tree_unflatten(in_tree, leaves)
            raise ValueError(
                "vmap wrapped function must be passed at least one argument containing an array or "
                f"axis_size must be specified, got empty *args={args} and **kwargs={kwargs}"
            )
        raise ValueError(
            "vmap must have at least one non-None value in in_axes or axis_size must be specified"
        )
    return size, dims


def _layout_of_axis(leaves: Sequence[Any], dims: Sequence[BatchDim]) -> tuple[Any, Any] | None:
    """The mesh and the explicit axes over which the examples are split; None where they are not.

    Raises:
      ValueError: where they are split differently in different arguments.
    """
    mesh = None
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is not None:
            layout = getattr(getattr(leaf, "aval", None), "layout", None)
            if layout is not None and layout.spec.partitions[dim] is not None:
                mesh = layout.mesh
    if mesh is None:
        return None
    found = [
        entries_of(get_aval(leaf))[dim]
        for leaf, dim in zip(leaves, dims, strict=True)
        if dim is not None
    ]
    for entry in found:
        if entry != found[0]:
            raise ValueError(
                "Mapped away dimension of inputs passed to vmap should be sharded the same. Got "
                f"inconsistent axis specs: {_entry_text(found[0])} vs {_entry_text(entry)}"
            )
    split = set(axes_of_entry(found[0]))
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            layout = getattr(getattr(leaf, "aval", None), "layout", None)
            entries = () if layout is None else layout.spec.partitions
            if any(split.intersection(axes_of_entry(entry)) for entry in entries):
                raise ValueError(
                    "Unmapped values passed to vmap cannot be sharded along the mesh axis you are "
                    f"vmapping over. Got type: {leaf.aval.str_short(True)}, in_axes: None and "
                    f"vmapped mesh axis: {_entry_text(found[0])}"
                )
    return (mesh, found[0])


def _entry_text(entry: Any) -> str:
    return f"({','.join(map(str, entry))})" if isinstance(entry, tuple) else str(entry)


def _with_spmd_name(axis: BatchAxis) -> BatchAxis:
    """The axis without its ``spmd_axis_name``, which arguments' types say already."""
    own = axes_of_entry(axis.spmd_name)
    assert axis.layout is not None
    explicit = axes_of_entry(axis.layout[1])
    if own != explicit:
        raise ValueError(
            "Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed. "
            f"Got spmd_axis_name={own} and arrays sharded on explicit_mesh_axis={explicit}"
        )
    return axis._replace(spmd_name=None)


def _shape(leaf: Any) -> tuple[int, ...]:
    try:
        return get_aval(leaf).shape  # type: ignore[attr-defined]
    except TypeError as error:
        raise TypeError(
            f"Argument {leaf!r} of type {type(leaf)} is not a valid {naming.library} type"
        ) from error


def _argument_name(fun: Any, in_tree: Any, position: int) -> str:
    names = debug_info_of_tree("vmap", fun, in_tree).arg_names
    return names[position] if names else f"number {position}"


def _raise_no_axis(
    fun: Any, in_tree: Any, leaves: Sequence[Any], position: int, axis: int, shape: tuple
) -> NoReturn:
    needed = axis + 1 if axis >= 0 else -axis
    name = _argument_name(fun, in_tree, position)
    raise ValueError(
        f"vmap was requested to map its argument along axis {axis}, which implies that its rank "
        f"should be at least {needed}, but is only {len(shape)} (its shape is {shape}). It is the "
        f"argument {name}; in_axes of None maps it over no axis, for all examples to share it."
    )


def _raise_inconsistent(
    fun: Any,
    in_tree: Any,
    leaves: Sequence[Any],
    dims: Sequence[BatchDim],
    axis_size: int | None,
) -> NoReturn:
    by_size: dict[int, list[int]] = {}
    for position, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is not None:
            by_size.setdefault(get_aval(leaf).shape[dim], []).append(position)  # type: ignore[attr-defined]

    def described(position: int) -> str:
        name = _argument_name(fun, in_tree, position)
        by_name = len(leaves) - in_tree.children()[1].num_leaves
        if position >= by_name:
            keyword, rest = re.match(r"(\w+)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
            name = f"kwargs[{keyword!r}]{rest}"
        else:
            name = f"argument {name}"
        aval = get_aval(leaves[position])
        return f"axis {dims[position]} of {name} of type {aval.str_short()}"

    lines = [] if axis_size is None else [f"the `axis_size` argument was {axis_size}"]
    groups = sorted(by_size.items(), key=lambda item: -len(item[1]))
    largest = len(groups[0][1])
    for number, (size, positions) in enumerate(groups):
        if len(positions) == 1:
            lines.append(f"one axis had size {size}: {described(positions[0])}")
        else:
            how_many = "most" if number == 0 and len(positions) == largest else "some"
            lines.append(
                f"{how_many} axes ({len(positions)} of them) had size {size}, e.g. "
                f"{described(positions[0])}"
            )
    raise ValueError(
        "vmap got inconsistent sizes for array axes to be mapped:\n  * " + ";\n  * ".join(lines)
    )


# ---- results ----


def _placed(
    out: Any,
    axis: BatchAxis,
    dim: BatchDim,
    target: int | None,
    sum_match: bool,
    out_axes: Any,
    out_tree: Any,
    position: int,
) -> Any:
    """One result with its batch dimension where ``out_axes`` wants it."""
    if dim is None:
        ndim = _output_ndim(out)
        if target is None:
            return out
        saved, examples.layout = examples.layout, axis.layout
        try:
            return broadcast_batch(out, axis.size, _axis_in(target, ndim + 1))
        finally:
            examples.layout = saved
    if target is not None:
        return move_dim(out, dim, _axis_in(target, out.ndim))
    if sum_match:
        return lax.reduce_sum(out, (dim,))
    if axis.name is not None:
        raise ValueError(
            f"vmap has mapped output (axis_name={axis.name}) but out_axes is None: the output was "
            f"batched on axis {dim}. Say which axis the examples shall be in, or return a value "
            "that is the same for all of them."
        )
    path = "" if out_axes is None else result_paths(out_tree)[position].removeprefix("result")
    raise ValueError(
        f"at vmap out_axes{path}, got axis spec None but output was batched on axis {dim}. Say "
        "which axis the examples shall be in, or return a value that is the same for all of them."
    )


def _output_ndim(out: Any) -> int:
    try:
        return get_aval(out).ndim  # type: ignore[attr-defined]
    except TypeError as error:
        raise TypeError(
            f"Output from batched function {out!r} with type {type(out)} is not a valid "
            f"{naming.library} type"
        ) from error


def _axis_in(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


# `lax.map` computes batches by vmap, which it must not import.
install_vectorizer(vmap)
