# SPDX-License-Identifier: Apache-2.0
"""Casts and sums of partial sums over manual axes, inside `shard_map`.

With ``check_vma=True``, a value has one of four kinds along each manual axis. The value is
invariant, varying, unreduced (each device holds a term of a sum) or reduced (invariant, with an
unreduced cotangent). The operations here convert between these kinds. The transpose of each
operation is another of these operations. Derivatives therefore postpone sums over devices as the
program does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_autodiff.tables import jvp_rules, linear, transpose_rules
from olympus_autodiff.zeros import Zero
from olympus_batching.tables import batching_rules, shifted, unary
from olympus_ir.lax.collectives.operations import partial_sums as declared
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.propagation import declared_types, propagation_rules
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.effects import NamedAxisEffect
from olympus_ir.types.layouts import entries_of, layout_over, manual_axis_type, mesh_in_force
from olympus_ir.types.placement import PartitionSpec

__all__ = [
    "all_gather_reduced_p",
    "preduced_p",
    "reduced_vary_cast_p",
    "unreduced_psum_p",
    "unreduced_reduce_scatter_p",
    "vary_unreduced_cast_p",
]

_NO_AXES: frozenset = frozenset()


def _declare(name: str) -> Primitive:
    primitive = Primitive.declare(name, family="partial_sums")
    primitive.linear_in = True
    primitive.spreads_varying = False
    propagation_rules.define(primitive, declared_types)
    jvp_rules.define(primitive, linear)
    return primitive


# The next four primitives have the parameter ``axes``.
vary_unreduced_cast_p = _declare("vary_unreduced_cast_p")
reduced_vary_cast_p = _declare("reduced_vary_cast_p")
preduced_p = _declare("preduced")
unreduced_psum_p = _declare("unreduced_psum")
# The next two primitives have the parameters ``axis_name``, ``axis_size`` and ``tiled``, and a
# dimension: ``all_gather_dimension`` or ``scatter_dimension``.
all_gather_reduced_p = _declare("all_gather_reduced")
unreduced_reduce_scatter_p = _declare("unreduced_reduce_scatter")


# ---- types ----


def _kind(aval: ShapedArray, axis: Any) -> str:
    """Returns the kind of a value along a manual axis."""
    kinds = manual_axis_type(aval.vma, aval.layout)
    if axis in kinds.varying:
        return "varying"
    if axis in kinds.unreduced:
        return "unreduced"
    return "reduced" if axis in kinds.reduced else "invarying"


def _collective_type(
    name: str, aval: ShapedArray, axes: Sequence[Any], source: str, target: str, **fields: Any
) -> tuple[ShapedArray, frozenset]:
    """Returns the type and the effects of the result of a collective over manual axes.

    Args:
      name: the name of the collective, for the error.
      aval: the type of the operand.
      axes: the manual axes.
      source: the kind that the operand must have along the axes, such as ``"varying"``.
      target: the kind of the result along the axes.
      **fields: attributes of the result's type that differ from the operand's, such as ``shape``.
        ``entries`` are the entries of its partition spec.

    Raises:
      ValueError: if the operand is of another kind along one of the axes.
    """
    for axis in axes:
        if _kind(aval, axis) != source:
            raise ValueError(
                f"{name} is a {source.title()}->{target.title()} collective: it only accepts "
                f"inputs that are {source} along the axes it is given, {tuple(axes)}. Got "
                f"{aval.str_short(True)}"
            )
    chosen = frozenset(axes)
    kinds = manual_axis_type(aval.vma, aval.layout)
    own = PartitionSpec() if aval.layout is None else aval.layout.spec
    unreduced, reduced = own.unreduced - chosen, own.reduced - chosen
    entries = fields.pop("entries", entries_of(aval))
    layout = layout_over(
        mesh_in_force() if aval.layout is None else aval.layout.mesh,
        entries,
        unreduced | chosen if target == "unreduced" else unreduced,
        reduced | chosen if target == "reduced" else reduced,
    )
    varying = kinds.varying - chosen
    result = aval.update(
        vma=varying | chosen if target == "varying" else varying, sharding=layout, **fields
    )
    return result, frozenset(NamedAxisEffect(axis) for axis in axes)


def _cast(primitive: Primitive, source: str, target: str) -> None:
    primitive.def_effectful_abstract_eval(
        lambda operand, *, axes: _collective_type(primitive.name, operand, axes, source, target)
    )
    batching_rules.define(primitive, unary(primitive))


_cast(vary_unreduced_cast_p, "varying", "unreduced")
_cast(reduced_vary_cast_p, "reduced", "varying")
_cast(preduced_p, "invarying", "reduced")
_cast(unreduced_psum_p, "unreduced", "invarying")


@all_gather_reduced_p.def_effectful_abstract_eval
def _all_gather_reduced_type(
    operand: ShapedArray,
    *,
    all_gather_dimension: int,
    axis_name: tuple,
    axis_size: int,
    tiled: bool,
) -> Any:
    shape, entries = list(operand.shape), list(entries_of(operand))
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
        entries.insert(all_gather_dimension, None)
    return _collective_type(
        "all_gather_reduced",
        operand,
        axis_name,
        "varying",
        "reduced",
        shape=tuple(shape),
        entries=tuple(entries),
    )


@unreduced_reduce_scatter_p.def_effectful_abstract_eval
def _unreduced_reduce_scatter_type(
    operand: ShapedArray,
    *,
    scatter_dimension: int,
    axis_name: tuple,
    axis_size: int,
    tiled: bool,
) -> Any:
    shape, entries = list(operand.shape), list(entries_of(operand))
    if shape[scatter_dimension] % axis_size or (
        not tiled and shape[scatter_dimension] != axis_size
    ):
        raise ValueError(
            f"psum_scatter cannot divide dimension {scatter_dimension} of "
            f"{operand.str_short(True)} into equal parts for {axis_size} devices"
        )
    if tiled:
        shape[scatter_dimension] //= axis_size
    else:
        del shape[scatter_dimension], entries[scatter_dimension]
    return _collective_type(
        "unreduced_reduce_scatter",
        operand,
        axis_name,
        "unreduced",
        "varying",
        shape=tuple(shape),
        entries=tuple(entries),
    )


# ---- derivatives ----


def _transposed(primitive: Primitive, other: Primitive, rename: dict[str, str]) -> None:
    def rule(cotangent: Any, operand: Any, **params: Any) -> list[Any]:
        if cotangent.__class__ is Zero:
            return [cotangent]
        renamed = {rename.get(name, name): value for name, value in params.items()}
        return [other.bind(cotangent, **renamed)]

    transpose_rules.define(primitive, rule)


for _one, _other in (
    (vary_unreduced_cast_p, reduced_vary_cast_p),
    (preduced_p, unreduced_psum_p),
):
    _transposed(_one, _other, {})
    _transposed(_other, _one, {})
_transposed(
    all_gather_reduced_p,
    unreduced_reduce_scatter_p,
    {"all_gather_dimension": "scatter_dimension"},
)
_transposed(
    unreduced_reduce_scatter_p,
    all_gather_reduced_p,
    {"scatter_dimension": "all_gather_dimension"},
)


# ---- batching ----


@batching_rules.define(all_gather_reduced_p)
def _batch_all_gather(
    axis_size: int, args: Any, dims: Any, *, all_gather_dimension: int, **params: Any
) -> Any:
    (operand,), (dim,) = args, dims
    if params["tiled"]:
        position, out_dim = shifted(all_gather_dimension, dim), dim
    else:
        # The gathered dimension comes before or after the batch dimension.
        position = all_gather_dimension + (all_gather_dimension > dim)
        out_dim = dim + (all_gather_dimension <= dim)
    return all_gather_reduced_p.bind(operand, all_gather_dimension=position, **params), out_dim


@batching_rules.define(unreduced_reduce_scatter_p)
def _batch_reduce_scatter(
    axis_size: int, args: Any, dims: Any, *, scatter_dimension: int, **params: Any
) -> Any:
    (operand,), (dim,) = args, dims
    position = shifted(scatter_dimension, dim)
    out_dim = dim if params["tiled"] else dim - (position < dim)
    return unreduced_reduce_scatter_p.bind(operand, scatter_dimension=position, **params), out_dim


# ---- casts and collectives of `lax` on partial sums ----


def _pcast(x: Any, names: tuple, to: str) -> Any:
    casts = {
        ("varying", "unreduced"): vary_unreduced_cast_p,
        ("reduced", "varying"): reduced_vary_cast_p,
        ("invarying", "reduced"): preduced_p,
    }

    def of_leaf(leaf: Any) -> Any:
        aval = get_aval(leaf)
        sources = sorted({_kind(aval, name) for name in names})
        if len(sources) > 1:
            raise ValueError(
                f"pcast: along the axes {names} the value {aval.str_short(True)} is {sources}; "
                "cast along one axis at a time"
            )
        primitive = casts.get((sources[0], to))
        if primitive is None:
            raise ValueError(f"Unsupported pcast from={sources[0]}, to={to!r}")
        return primitive.bind(leaf, axes=names)

    return pytrees.tree_map(of_leaf, x)


def _psum(leaf: Any, names: tuple) -> Any:
    return unreduced_psum_p.bind(leaf, axes=names)


def _psum_scatter(leaf: Any, names: tuple, dimension: int, size: int, tiled: bool) -> Any:
    return unreduced_reduce_scatter_p.bind(
        leaf, axis_name=names, axis_size=size, scatter_dimension=dimension, tiled=tiled
    )


def _all_gather(leaf: Any, names: tuple, dimension: int, size: int, tiled: bool) -> Any:
    return all_gather_reduced_p.bind(
        leaf, axis_name=names, axis_size=size, all_gather_dimension=dimension, tiled=tiled
    )


def _as_varying(leaf: Any, axes: Sequence[Any]) -> Any:
    return reduced_vary_cast_p.bind(leaf, axes=tuple(axes))


declared.install(
    pcast=_pcast,
    psum=_psum,
    psum_scatter=_psum_scatter,
    all_gather=_all_gather,
    as_varying=_as_varying,
)
