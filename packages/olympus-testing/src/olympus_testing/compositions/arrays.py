# SPDX-License-Identifier: Apache-2.0
"""Families of operations on arrays: reductions, shapes, indices, updates and sorting.

The public functions append statements to a draft of the generated program, and return the value of
the last statement.
"""

from __future__ import annotations

from .drafts import Draft
from .elementwise import unary
from .programs import Kind, Value

__all__ = [
    "cumulative",
    "indexed",
    "joined",
    "moved",
    "padded",
    "reduced",
    "resized",
    "sorted_values",
    "taken",
    "updated",
]


def reduced(draft: Draft) -> Value:
    """Appends a reduction over some dimensions."""
    x = draft.pick(rank=lambda rank: rank > 0)
    rank = len(x.kind.shape)
    axes = sorted(draft.chooser.sample(range(rank), draft.chooser.randint(1, rank)))
    keep = draft.chance(0.25)
    shape = tuple(
        1 if axis in axes else size
        for axis, size in enumerate(x.kind.shape)
        if keep or axis not in axes
    )
    written = [axis - rank if draft.chance(0.3) else axis for axis in axes]
    axis = "None" if len(axes) == rank and draft.chance(0.5) else str(tuple(written))
    options = f"axis={axis}, keepdims={keep}"
    dtype, empty = x.kind.dtype, any(x.kind.shape[axis] == 0 for axis in axes)
    if dtype == "bool":
        return draft.add(
            f"jnp.{draft.chooser.choice(('any', 'all'))}($0, {options})", [x], shape, "bool"
        )
    names = ["sum", "prod"]
    if not empty:
        names += ["mean"] if x.kind.is_inexact else []
        if not x.kind.is_complex and not draft.smooth:
            names += ["max", "min", "max", "ptp"]
        if x.kind.is_float:
            names += ["logsumexp", "var"]
    name = draft.chooser.choice(names)
    if name == "logsumexp":
        return draft.add(f"jax.nn.logsumexp($0, {options})", [x], shape, dtype)
    if x.kind.is_integer and name in ("sum", "prod"):
        dtype = draft.dtypes.integer
        options += f", dtype='{dtype}'"
    if (
        x.kind.is_integer is False
        and not empty
        and not keep
        and not draft.smooth
        and draft.chance(0.1)
    ):
        if not x.kind.is_complex:
            axis_text = written[0]
            name = draft.chooser.choice(("argmax", "argmin"))
            kept = tuple(size for at, size in enumerate(x.kind.shape) if at != axes[0])
            return draft.add(f"jnp.{name}($0, axis={axis_text})", [x], kept, draft.dtypes.integer)
    return draft.add(f"jnp.{name}($0, {options})", [x], shape, dtype)


def cumulative(draft: Draft) -> Value:
    """Appends a cumulative reduction, or a reduction over windows."""
    x = draft.sized("inexact", lambda rank: rank > 0)
    axis = draft.chooser.randrange(len(x.kind.shape))
    reverse = draft.chance(0.4)
    names = ["cumsum", "cumprod"]
    if x.kind.is_float and not draft.smooth:
        names += ["cummax", "cummin", "cumlogsumexp"]
    name = draft.chooser.choice(names)
    if x.kind.is_float and draft.chance(0.25):
        width = draft.chooser.randint(1, x.kind.shape[axis])
        window = tuple(width if at == axis else 1 for at in range(len(x.kind.shape)))
        ones = (1,) * len(window)
        which = (
            "lax.add" if draft.smooth else draft.chooser.choice(("lax.add", "lax.max", "lax.min"))
        )
        start = {"lax.add": "0.", "lax.max": "-jnp.inf", "lax.min": "jnp.inf"}[which]
        text = (
            f"lax.reduce_window($0, np.array({start}, $0.dtype), {which}, {window}, {ones}, 'SAME')"
        )
        return draft.add(
            text.replace("-jnp", "-np").replace("jnp.inf", "np.inf"),
            [x],
            x.kind.shape,
            x.kind.dtype,
        )
    return draft.add(
        f"lax.{name}($0, axis={axis}, reverse={reverse})", [x], x.kind.shape, x.kind.dtype
    )


def moved(draft: Draft) -> Value:
    """Appends an array with its elements rearranged."""
    x = draft.pick(rank=lambda rank: rank > 0)
    shape, rank = x.kind.shape, len(x.kind.shape)
    axis, other = draft.chooser.randrange(rank), draft.chooser.randrange(rank)
    written = axis - rank if draft.chance(0.3) else axis
    order = draft.chooser.sample(range(rank), rank)
    swapped = list(shape)
    swapped[axis], swapped[other] = shape[other], shape[axis]
    ahead = [shape[axis], *shape[:axis], *shape[axis + 1 :]]
    choices = [
        (f"jnp.transpose($0, {tuple(order)})", [shape[at] for at in order]),
        (f"jnp.flip($0, axis={written})", shape),
        (f"lax.rev($0, ({axis},))", shape),
        (f"jnp.roll($0, {draft.chooser.randint(-3, 3)}, axis={written})", shape),
        (f"jnp.swapaxes($0, {written}, {other})", swapped),
        (f"jnp.moveaxis($0, {axis}, 0)", ahead),
    ]
    if rank == 2 and shape[0] == shape[1]:
        choices += [("jnp.tril($0)", shape), ("jnp.triu($0, 1)", shape), ("$0.T", shape)]
    text, changed = draft.chooser.choice(choices)
    return draft.add(text, [x], changed, x.kind.dtype)


def resized(draft: Draft) -> Value:
    """Appends a copy of an array in another shape; elements may be repeated or dropped."""
    x = draft.pick(rank=lambda rank: rank > 0)
    shape, rank = x.kind.shape, len(x.kind.shape)
    axis = draft.chooser.randrange(rank)
    written = axis - rank if draft.chance(0.3) else axis
    twice = tuple(2 if at == axis else 1 for at in range(rank))
    flat = draft.chooser.choice(("$0.ravel()", "jnp.reshape($0, -1)", "$0.flatten()"))

    def with_size(size: int) -> list[int]:
        return [*shape[:axis], size, *shape[axis + 1 :]]

    choices = [
        (flat if x.kind.size else "$0.ravel()", [x.kind.size]),
        (f"jnp.expand_dims($0, {axis})", [*shape[:axis], 1, *shape[axis:]]),
        (f"jnp.tile($0, {twice})", with_size(2 * shape[axis])),
        (f"jnp.repeat($0, 2, axis={written})", with_size(2 * shape[axis])),
        (f"jnp.broadcast_to($0, {(2, *shape)})", [2, *shape]),
    ]
    if shape[axis] > 1:
        choices.append((f"jnp.split($0, [1], axis={written})[1]", with_size(shape[axis] - 1)))
    text, changed = draft.chooser.choice(choices)
    return draft.add(text, [x], changed, x.kind.dtype)


def padded(draft: Draft) -> Value:
    """Appends an array with padding around and between its elements."""
    x = draft.pick(rank=lambda rank: rank > 0)
    shape, rank = x.kind.shape, len(x.kind.shape)
    axis = draft.chooser.randrange(rank)
    low, high = draft.chooser.randint(0, 1), draft.chooser.randint(0, 2)
    changed = list(shape)
    if shape[axis] and draft.chance(0.4):
        inner = draft.chooser.randint(0, 1)
        low -= draft.chooser.randint(0, 1)
        config = tuple((low, high, inner) if at == axis else (0, 0, 0) for at in range(rank))
        changed[axis] += low + high + inner * (shape[axis] - 1)
        text = f"lax.pad($0, np.array(0, $0.dtype), {config})"
        return draft.add(text, [x], changed, x.kind.dtype)
    widths = tuple((low, high) if at == axis else (0, 0) for at in range(rank))
    changed[axis] += low + high
    mode = draft.chooser.choice(("constant", "edge")) if shape[axis] else "constant"
    return draft.add(f"jnp.pad($0, {widths}, mode='{mode}')", [x], changed, x.kind.dtype)


def joined(draft: Draft) -> Value:
    """Appends a concatenation of two arrays."""
    x = draft.pick()
    y = draft.fit(draft.pick(), x.kind)
    if not x.kind.shape or draft.chance(0.4):
        axis = draft.chooser.randint(0, len(x.kind.shape))
        shape = [*x.kind.shape[:axis], 2, *x.kind.shape[axis:]]
        return draft.add(f"jnp.stack([$0, $1], axis={axis})", [x, y], shape, x.kind.dtype)
    axis = draft.chooser.randrange(len(x.kind.shape))
    shape = list(x.kind.shape)
    shape[axis] *= 2
    return draft.add(f"jnp.concatenate([$0, $1], axis={axis})", [x, y], shape, x.kind.dtype)


def indexed(draft: Draft) -> Value:
    """Appends an indexing operation with a static index: slices, integers and new dimensions."""
    x = draft.sized(rank=lambda rank: rank > 0)
    text, shape = index(draft, x.kind.shape)
    return draft.add(f"$0[{text}]", [x], shape, x.kind.dtype)


def index(draft: Draft, shape: tuple[int, ...]) -> tuple[str, list[int]]:
    """Returns a static index of an array, and the shape of the selected part."""
    parts, selected_shape = [], []
    for size in shape:
        choice = draft.chooser.randrange(6)
        if choice == 0:
            parts.append(str(draft.chooser.randint(-size, size - 1)))
        elif choice == 1:
            start, step = draft.chooser.randint(0, size - 1), draft.chooser.randint(1, 2)
            parts.append(f"{start}::{step}")
            selected_shape.append(len(range(start, size, step)))
        elif choice == 2:
            parts.append("::-1")
            selected_shape.append(size)
        elif choice == 3:
            stop = draft.chooser.randint(1, size)
            parts.append(f":{stop - size}" if stop < size else ":")
            selected_shape.append(stop)
        elif choice == 4:
            parts.append("None, :")
            selected_shape += [1, size]
        else:
            parts.append(":")
            selected_shape.append(size)
    return ", ".join(parts), selected_shape


def taken(draft: Draft) -> Value:
    """Appends an indexing operation with computed integers, some of which are out of bounds."""
    x = draft.sized(rank=lambda rank: rank > 0)
    shape, rank = x.kind.shape, len(x.kind.shape)
    axis = draft.chooser.randrange(rank)
    kind = draft.chooser.randrange(5)
    if kind == 0:
        place = draft.fit(draft.pick("integer"), Kind((), draft.dtypes.integer))
        width = draft.chooser.randint(1, shape[axis])
        text = f"lax.dynamic_slice_in_dim($0, $1, {width}, axis={axis})"
        changed = [width if at == axis else size for at, size in enumerate(shape)]
        return draft.add(text, [x, place], changed, x.kind.dtype)
    if kind == 1:
        place = draft.fit(draft.pick("integer"), Kind((), draft.dtypes.integer))
        text = f"lax.dynamic_index_in_dim($0, $1, axis={axis}, keepdims=False)"
        return draft.add(text, [x, place], [*shape[:axis], *shape[axis + 1 :]], x.kind.dtype)
    if kind == 2:
        places = draft.fit(draft.pick("integer"), Kind(shape, draft.dtypes.integer))
        text = f"jnp.take_along_axis($0, $1 % {shape[axis]}, axis={axis})"
        return draft.add(text, [x, places], shape, x.kind.dtype)
    places = draft.pick("integer", lambda rank: rank < 3)
    if kind == 3:
        mode = draft.chooser.choice(("clip", "wrap", "fill"))
        if mode == "fill" and x.kind.dtype != "float32":
            mode = "clip"
        text = f"jnp.take($0, $1, axis={axis}, mode='{mode}')"
        changed = [*shape[:axis], *places.kind.shape, *shape[axis + 1 :]]
        return draft.add(text, [x, places], changed, x.kind.dtype)
    return draft.add("$0[$1]", [x, places], [*places.kind.shape, *shape[1:]], x.kind.dtype)


def updated(draft: Draft) -> Value:
    """Appends an array with some elements changed."""
    x = draft.sized(rank=lambda rank: rank > 0)
    shape = x.kind.shape
    names = ["set", "add"]
    if x.kind.dtype != "bool":
        names += ["multiply"]
        if not draft.smooth and not x.kind.is_complex:
            names += ["max", "min"]
    name = draft.chooser.choice(names)
    kind = draft.chooser.randrange(4)
    if kind == 0:
        text, changed = index(draft, shape)
        y = draft.fit(draft.pick(), Kind(tuple(changed), x.kind.dtype))
        return draft.add(f"$0.at[{text}].{name}($1)", [x, y], shape, x.kind.dtype)
    if kind == 1:
        mask = draft.fit(draft.pick("boolean"), Kind(shape[:1], "bool"))
        y = draft.fit(draft.pick(), Kind((), x.kind.dtype))
        text = "jnp.where(jnp.reshape($1, (-1,) + (1,) * ($0.ndim - 1)), $2, $0)"
        return draft.add(text, [x, mask, y], shape, x.kind.dtype)
    if kind == 2:
        place = draft.fit(draft.pick("integer"), Kind((), draft.dtypes.integer))
        axis = draft.chooser.randrange(len(shape))
        part = [1 if at == axis else size for at, size in enumerate(shape)]
        y = draft.fit(draft.pick(), Kind(tuple(part), x.kind.dtype))
        text = f"lax.dynamic_update_slice_in_dim($0, $2, $1, axis={axis})"
        return draft.add(text, [x, place, y], shape, x.kind.dtype)
    places = draft.fit(
        draft.pick("integer"), Kind((draft.chooser.randint(1, 3),), draft.dtypes.integer)
    )
    if name == "set":  # the order of several updates of one element is not defined
        name = "add"
    y = draft.fit(draft.pick(), Kind((places.kind.shape[0], *shape[1:]), x.kind.dtype))
    mode = draft.chooser.choice(("", ", mode='drop'", ", mode='clip'"))
    return draft.add(f"$0.at[$1].{name}($2{mode})", [x, places, y], shape, x.kind.dtype)


def sorted_values(draft: Draft) -> Value:
    """Appends a sorted array, or the indices that sort an array."""
    x = draft.sized("real", lambda rank: rank > 0)
    shape, dtype = x.kind.shape, x.kind.dtype
    axis = draft.chooser.randrange(len(shape))
    kind = draft.chooser.randrange(5)
    if dtype == "bool" or (draft.smooth and x.kind.is_float):
        return unary(draft)
    if kind == 0:
        return draft.add(
            f"jnp.sort($0, axis={axis}, descending={draft.chance(0.3)})", [x], shape, dtype
        )
    if kind == 1:
        return draft.add(f"jnp.argsort($0, axis={axis})", [x], shape, draft.dtypes.integer)
    if kind == 2:
        y = draft.fit(draft.pick(), Kind(shape, draft.chooser.choice((dtype, draft.dtypes.real))))
        kinds = [x.kind, y.kind]
        return draft.add_several(
            f"lax.sort(($0, $1), dimension={axis}, num_keys=1)", [x, y], kinds
        )[1]
    if kind == 3:
        count = draft.chooser.randint(1, shape[-1])
        kinds = [Kind((*shape[:-1], count), dtype), Kind((*shape[:-1], count), "int32")]
        return draft.add_several(f"lax.top_k($0, {count})", [x], kinds)[0]
    place = draft.pick(dtype) if draft.chance(0.5) else x
    line = draft.fit(x, Kind((x.kind.size,), dtype))
    text = "jnp.searchsorted(jnp.sort($0), $1)"
    return draft.add(text, [line, place], place.kind.shape, "int32")
