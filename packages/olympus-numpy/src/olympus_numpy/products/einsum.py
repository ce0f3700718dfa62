# SPDX-License-Identifier: Apache-2.0
"""Einstein summation: `einsum`, contracted pair by pair along a path from opt-einsum."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import behind_boundary
from olympus_ir.lax.core.values import as_array
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import current, evaluation_trace, is_constant_dim, transforming
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import DTypeLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.placement import NamedSharding
from olympus_ir.types.resharding import asked_sharding, with_out_sharding

from ..core.axes import refuse_out
from ..core.compilation import compiled
from ..core.promotion import check_arraylike, convert, ensure_array, result_type_of, spread
from .contractions import contract

if TYPE_CHECKING:
    import opt_einsum

    from olympus_ir.lax.contractions.dot_algorithms import PrecisionLike
else:
    opt_einsum = deferred("opt_einsum", milliseconds=14.0)

__all__ = ["einsum", "einsum_path"]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: str | bool | list[tuple[int, ...]] = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
    _dot_general: Callable[..., Array] | None = None,
) -> Array:
    """Returns the sum of products that subscripts describe.

    Args:
      subscripts: a term of letters for each operand, separated by commas. The result's term may
        follow after ``->``. Alternatively, each operand is followed by a list of integers, and a
        list for the result may come last.
      *operands: arrays.
      out: not supported.
      optimize: the way to find the order of contractions: True, False, or a strategy or path of
        opt-einsum.
      precision: the precision of products on accelerators.
      preferred_element_type: the dtype of the accumulation and of the result.
      out_sharding: the sharding of the result.
      _dot_general: function that multiplies two operands, in place of `olympus.lax.dot_general` and
        with its arguments. Libraries of layers pass quantized products.

    Returns:
      An array of the common dtype, unless ``preferred_element_type`` is given.

    Raises:
      ValueError: the subscripts follow an array, or do not fit the operands.

    Example:
      >>> from olympus_numpy import array
      >>> einsum("ij,j->i", array([[1, 2], [3, 4]]), array([1, 10]))
      Array([21, 43], dtype=int32)
    """
    if out is not None:
        refuse_out("einsum")
    options = (optimize, precision, preferred_element_type, out_sharding, _dot_general)
    if not isinstance(subscripts, str):
        if any(isinstance(operand, str) for operand in operands):
            raise ValueError(
                "einsum takes the subscripts before the arrays: einsum('ij,jk->ik', x, y)"
            )
        subscripts, operands = _from_lists((subscripts, *operands))
    elif current.trace is not evaluation_trace:
        with transforming(subscripts):  # equations show the subscripts in their scopes
            return _of_letters(subscripts, operands, *options)
    return _of_letters(subscripts, operands, *options)


def _of_letters(
    subscripts: str,
    operands: tuple[Any, ...],
    optimize: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
    _dot_general: Any,
) -> Array:
    """Returns the sum of products that terms of letters describe."""
    path: Any = optimize
    if isinstance(optimize, list):
        path = tuple(tuple(step) if isinstance(step, list) else step for step in optimize)
    out_sharding = asked_sharding(out_sharding, "einsum")
    if out_sharding is not None and len(operands) > 2:
        # The compiler chooses the layout of intermediate products.
        keywords = {"optimize": path, "precision": precision, "_dot_general": _dot_general}
        keywords["preferred_element_type"] = preferred_element_type
        return with_out_sharding(
            lambda *arrays: _of_letters(subscripts, arrays, out_sharding=None, **keywords),
            operands,
            out_sharding,
            "einsum",
        )
    options = (subscripts, path, precision, preferred_element_type, out_sharding)
    if _dot_general is None or behind_boundary(_dot_general) is lax.dot_general:
        return _einsum(operands, *options)

    # A custom function may have side effects, such as collecting statistics, so it is never cached.
    def product(
        x: Any, y: Any, numbers: Any, precision: Any, element_type: Any, sharding: Any = None
    ) -> Any:
        placement = {} if sharding is None else {"out_sharding": sharding}
        return _dot_general(
            x, y, numbers, precision=precision, preferred_element_type=element_type[0], **placement
        )

    return _contracted(operands, *options, product)


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: bool | str | list[tuple[int, ...]] = "auto"
) -> tuple[list[tuple[int, ...]], Any]:
    """Returns the path of contractions that `einsum` would follow, and a description of the path.

    Args:
      subscripts: as in `einsum`.
      *operands: arrays.
      optimize: as in `einsum`.

    Returns:
      The path, a list of the positions of the operands contracted at each step, and a description
      of its cost.

    Example:
      >>> from olympus_numpy import ones
      >>> einsum_path("ij,jk", ones((2, 3)), ones((3, 4)))[0]
      [(0, 1)]
    """
    path: Any = optimize
    if isinstance(optimize, bool):
        path = "optimal" if optimize else [tuple(range(len(operands)))]
    found: Any = opt_einsum.contract_path(subscripts, *operands, optimize=path)
    return found


def _from_lists(arguments: Sequence[Any]) -> tuple[str, tuple]:
    """Returns subscripts as a string, from operands that alternate with lists of labels."""
    operands = tuple(arguments[0 : len(arguments) // 2 * 2 : 2])
    lists = list(arguments[1::2])
    output = [arguments[-1]] if len(arguments) % 2 else []
    letters = _letters_of([*lists, *output])
    subscripts, *rest = (
        "".join("..." if label is Ellipsis else letters[label] for label in labels)
        for labels in (*lists, *output)
    )
    for term in rest[: len(lists) - 1]:
        subscripts += "," + term
    return (f"{subscripts}->{rest[-1]}" if output else subscripts), operands


def _letters_of(lists: Sequence[Any]) -> dict[Any, str]:
    """Returns a letter for each label; letters have the order of the sorted labels."""
    try:
        labels = sorted({label for part in lists for label in part if label is not Ellipsis})
    except TypeError:
        raise TypeError(
            "For this input type lists must contain either Ellipsis or hashable and comparable "
            "object (e.g. int, str), and follow the operands one by one."
        ) from None
    if len(labels) > len(_LETTERS):
        raise ValueError(
            f"einsum accepts at most {len(_LETTERS)} different labels, got {len(labels)}."
        )
    return dict(zip(labels, _LETTERS, strict=False))


# ---- subscripts ----


def parse_subscripts(subscripts: str, ndims: Sequence[int]) -> tuple[list[str], str]:
    """Returns the terms of the operands and of the result, with letters in place of an ellipsis.

    Any character but dots, commas and the arrow may stand for a dimension.

    Raises:
      ValueError: if the subscripts are malformed or do not fit the operands' ranks.
    """
    subscripts = subscripts.replace(" ", "")
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ndims):
        raise ValueError(
            f"Number of einsum subscripts, {len(terms)}, must be equal to the number of operands, "
            f"{len(ndims)}: {subscripts!r}"
        )
    if {"-", ">"} & {*inputs, *output}:
        raise ValueError(f"einsum subscripts {subscripts!r} may have one arrow '->' only")
    _check_dots(subscripts, [*terms, output])
    used = set(subscripts) - set(".,->")
    free = [letter for letter in _LETTERS if letter not in used]
    hidden = 0  # the largest number of dimensions that an ellipsis stands for
    for position, (term, ndim) in enumerate(zip(terms, ndims, strict=True)):
        named = len(term.replace("...", ""))
        if "..." in term:
            hidden = max(hidden, ndim - named)
        if (ndim < named) if "..." in term else (ndim != named):
            raise ValueError(
                f"Einstein sum subscript {term!r} does not contain the correct number of indices "
                f"for operand {position}, which has {ndim} dimensions"
            )
    dots = "".join(free[:hidden])
    full = [_without_dots(term, dots, ndim) for term, ndim in zip(terms, ndims, strict=True)]
    if arrow:
        output = output.replace("...", dots)
    else:
        counts = Counter("".join(term.replace("...", "") for term in terms))
        output = dots + "".join(sorted(letter for letter in counts if counts[letter] == 1))
    _check_output(full, output)
    return full, output


def _without_dots(term: str, dots: str, ndim: int) -> str:
    count = ndim - len(term.replace("...", ""))
    return term.replace("...", dots[len(dots) - count :])


def _check_dots(subscripts: str, terms: Sequence[str]) -> None:
    if any("." in term.replace("...", "", 1) for term in terms):
        raise ValueError(
            f"Invalid Ellipses in {subscripts!r}: an ellipsis has three dots and occurs once in a "
            "term"
        )


def _check_output(terms: Sequence[str], output: str) -> None:
    if len(set(output)) != len(output):
        twice = next(letter for letter in output if output.count(letter) > 1)
        raise ValueError(f"Output character {twice!r} appeared more than once in the output.")
    for letter in output:
        if not any(letter in term for term in terms):
            raise ValueError(f"Output character {letter!r} did not appear in the input")


def _check_sizes(terms: Sequence[str], shapes: Sequence[tuple]) -> None:
    sizes: dict[str, int] = {}
    for position, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        for letter, size in zip(term, shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                raise ValueError(
                    f"Size of label {letter!r} for operand {position} ({size}) does not match "
                    f"previous terms ({known})."
                )


# ---- contraction ----


def _contracted(
    operands: Any,
    subscripts: str,
    optimize: Any = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: NamedSharding | None = None,
    product: Callable[..., Any] = contract,
) -> Any:
    check_arraylike("einsum", *operands)
    arrays = [ensure_array(operand) for operand in operands]
    shapes = tuple(array.shape for array in arrays)
    planned, output, path = _plan(subscripts, shapes, optimize)
    terms = list(planned)
    if preferred_element_type is None:
        element_type = result_type_of(*arrays)
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(preferred_element_type, "einsum")
        element_type = (dtype, False)
    for step in path:
        chosen = [(arrays.pop(i), terms.pop(i)) for i in sorted(step, reverse=True)]
        remaining = set(output).union(*terms)
        last = not arrays
        array, term = _contract_some(
            chosen,
            remaining,
            output if last else None,
            precision,
            element_type,
            product if out_sharding is None or not last else _LaidOutProduct(product, out_sharding),
        )
        arrays.append(array)
        terms.append(term)
    if out_sharding is not None and len(operands) == 1 and out_sharding.spec.unreduced:
        return _partial_sums(ensure_array(operands[0]), planned[0], output, out_sharding)
    result = convert(arrays[0], *element_type)
    if out_sharding is None or len(operands) > 1:
        return as_array(result)
    return lax.reshard(result, out_sharding)


def _partial_sums(array: Any, term: str, output: str, sharding: NamedSharding) -> Array:
    """Sums over the dimensions that ``output`` lacks; the result is unreduced over devices."""
    if len(set(term)) != len(term):
        raise NotImplementedError(
            f"einsum of one operand with a diagonal ({term!r}) cannot be unreduced: take the "
            "diagonal first"
        )
    output_letters = [letter for letter in term if letter in output]
    entries = dict(zip(output, sharding.spec.partitions, strict=False))
    spec = sharding.spec.update(partitions=tuple(entries.get(letter) for letter in output_letters))
    axes = tuple(position for position, letter in enumerate(term) if letter not in output)
    total = lax.reduce_sum(array, axes, out_sharding=NamedSharding(sharding.mesh, spec))
    return lax.transpose(total, [output_letters.index(letter) for letter in output])


class _LaidOutProduct:
    """Function that computes the last product of an `einsum` with ``out_sharding``.

    The caller permutes the dimensions of the product afterwards. The product is sharded so that the
    permuted result has the requested sharding.

    Args:
      product: the function that multiplies two operands.
      out_sharding: the sharding of the result of `einsum`.
    """

    def __init__(self, product: Callable[..., Any], out_sharding: Any) -> None:
        asked = asked_sharding(out_sharding, "einsum")
        assert asked is not None
        self.product, self.asked = product, asked

    def __call__(self, x: Any, y: Any, numbers: Any, precision: Any, dtype: Any, order: Any) -> Any:
        spec = self.asked.spec
        entries = spec.partitions + (None,) * (len(order) - len(spec))
        in_order: list[Any] = [None] * len(order)
        for position, source in enumerate(order):
            in_order[source] = entries[position]
        sharding = NamedSharding(self.asked.mesh, spec.update(partitions=tuple(in_order)))
        return self.product(x, y, numbers, precision, dtype, sharding)


_einsum = compiled(
    _contracted,
    ("subscripts", "optimize", "precision", "preferred_element_type", "out_sharding"),
    inline=True,
    name="_einsum",
)


@functools.lru_cache(maxsize=1024)
def _plan(subscripts: str, shapes: tuple, optimize: Any) -> tuple[tuple[str, ...], str, tuple]:
    """Returns the terms of the operands, the result's term, and the steps of contraction."""
    terms, output = parse_subscripts(subscripts, [len(shape) for shape in shapes])
    _check_sizes(terms, shapes)
    return tuple(terms), output, tuple(_path(terms, output, shapes, optimize))


def _path(terms: Sequence[str], output: str, shapes: Sequence[tuple], optimize: Any) -> Any:
    """Returns the positions of the operands to contract in each step."""
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    if optimize is False:
        return [(0, 1)] + [(0, len(terms) - 1 - k) for k in range(1, len(terms) - 1)]
    if isinstance(optimize, tuple):
        steps = [step for step in optimize if not isinstance(step, str)]
        return steps
    # Heuristic: symbolic dimensions are taken to have a typical size.
    sizes = [tuple(d if is_constant_dim(d) else 8 for d in shape) for shape in shapes]
    path, _ = opt_einsum.contract_path(
        ",".join(terms) + "->" + output,
        *sizes,
        shapes=True,
        optimize="optimal" if optimize is True else optimize,
    )
    return path


def _contract_some(
    chosen: list[tuple[Any, str]],
    remaining: set[str],
    output: str | None,
    precision: Any,
    element_type: Any,
    product: Callable[..., Any],
) -> tuple[Any, str]:
    """Contracts some operands, and sums over labels that are in no remaining term."""
    if len(chosen) == 1:
        array, term = _sum_own(*chosen[0], remaining)
        if output is not None and term != output:
            array = lax.transpose(array, tuple(term.index(letter) for letter in output))
            term = output
        return array, term
    first, *others = chosen
    for position, other in enumerate(others):
        later = set().union(*(term for _, term in others[position + 1 :]), remaining)
        result_labels = output if position == len(others) - 1 else None
        first = _contract_pair(first, other, later, result_labels, precision, element_type, product)
    return first


def _contract_pair(
    lhs: tuple[Any, str],
    rhs: tuple[Any, str],
    remaining: set[str],
    output: str | None,
    precision: Any,
    element_type: Any,
    product: Callable[..., Any],
) -> tuple[Any, str]:
    lhs = _sum_own(*lhs, remaining | set(rhs[1]))
    rhs = _sum_own(*rhs, remaining | set(lhs[1]))
    lhs, rhs = _without_spread(lhs, rhs), _without_spread(rhs, lhs)
    # If a dimension of size one was dropped from one operand, the other operand may now be summed
    # over that dimension.
    lhs = _sum_own(*lhs, remaining | set(rhs[1]))
    rhs = _sum_own(*rhs, remaining | set(lhs[1]))
    if output is None:
        output = _convenient_term(lhs[1], rhs[1], remaining)
    # Swap the operands if that puts the result's dimensions in order.
    if _result_term(rhs[1], lhs[1], output) == output:
        lhs, rhs = rhs, lhs
    (x, x_term), (y, y_term) = lhs, rhs
    batch = [letter for letter in output if letter in x_term and letter in y_term]
    summed = sorted(set(x_term) & set(y_term) - set(output))
    dimension_numbers = (
        tuple([tuple(map(term.index, summed)) for term in (x_term, y_term)]),
        tuple([tuple(map(term.index, batch)) for term in (x_term, y_term)]),
    )
    term = _result_term(x_term, y_term, output)
    order = tuple(term.index(letter) for letter in output)
    if isinstance(product, _LaidOutProduct):
        result = product(x, y, dimension_numbers, precision, element_type, order)
    else:
        result = product(x, y, dimension_numbers, precision, element_type)
    return lax.transpose(result, order), output


def _convenient_term(x_term: str, y_term: str, remaining: set[str]) -> str:
    """Returns the labels in ``remaining`` that the operands have, in the order of the operands."""
    return "".join(letter for letter in dict.fromkeys(x_term + y_term) if letter in remaining)


def _result_term(x_term: str, y_term: str, output: str) -> str:
    """Returns the labels of a product: batch labels, then the free labels of each operand.

    A label that only one operand has is free: `_sum_own` has already summed over the labels that
    only this operand needs.
    """
    batch = [letter for letter in output if letter in x_term and letter in y_term]
    x_free = [letter for letter in x_term if letter not in y_term]
    y_free = [letter for letter in y_term if letter not in x_term]
    return "".join(batch + x_free + y_free)


def _without_spread(own: tuple[Any, str], other: tuple[Any, str]) -> tuple[Any, str]:
    """Squeezes dimensions of size one that broadcast against the other operand."""
    (x, term), (y, other_term) = own, other
    spread_over = [
        position
        for position, letter in enumerate(term)
        if x.shape[position] == 1
        and letter in other_term
        and y.shape[other_term.index(letter)] != 1
    ]
    if not spread_over:
        return own
    kept = "".join(c for position, c in enumerate(term) if position not in spread_over)
    return lax.squeeze(x, tuple(spread_over)), kept


def _sum_own(x: Any, term: str, needed: set[str]) -> tuple[Any, str]:
    """Takes the diagonal of repeated labels, and sums over labels that are not needed."""
    repeated = () if len(set(term)) == len(term) else Counter(term).items()
    for letter, count in repeated:
        if count == 1:
            continue
        axes = [position for position, label in enumerate(term) if label == letter]
        x = _zero_off_diagonal(x, axes)
        # The array is now zero off the diagonal, so summing over all axes but one extracts the
        # diagonal.
        if letter not in needed:
            continue
        x = _summed(x, tuple(axes[:-1]))
        term = "".join(c for position, c in enumerate(term) if position not in axes[:-1])
    summed = tuple(position for position, letter in enumerate(term) if letter not in needed)
    if not summed:
        return x, term
    return _summed(x, summed), "".join(letter for letter in term if letter in needed)


def _summed(x: Any, axes: tuple[int, ...]) -> Any:
    """Sums over axes; the sum of booleans is their disjunction."""
    return lax.reduce_or(x, axes) if x.dtype == np.bool_ else lax.reduce_sum(x, axes)


def _zero_off_diagonal(x: Any, axes: list[int]) -> Any:
    size = x.shape[axes[0]]
    shape = (size,) * len(axes)
    index = np.dtype(np.uint32)
    mask: Any = None
    for first, second in zip(range(len(axes)), range(1, len(axes)), strict=False):
        same = lax.eq(
            lax.broadcasted_iota(index, shape, first), lax.broadcasted_iota(index, shape, second)
        )
        mask = same if mask is None else lax.bitwise_and(mask, same)
    mask = lax.broadcast_in_dim(mask, x.shape, tuple(axes))
    zeros = spread(np.zeros((), x.dtype), x.shape)
    return lax.select(mask, x, zeros)
