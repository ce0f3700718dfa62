# SPDX-License-Identifier: Apache-2.0
"""Functions of lists and tuples that interpreters of programs import from JAX's private module."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeVar

from olympus_ir._jaxlib import topological_sort

__all__ = [
    "canonicalize_axis",
    "canonicalize_axis_tuple",
    "ceil_of_ratio",
    "concatenate",
    "merge_lists",
    "partition_list",
    "split_list",
    "split_list_checked",
    "subs_list",
    "subs_list2",
    "subvals",
    "toposort",
    "tuple_delete",
    "tuple_insert",
    "tuple_update",
    "unflatten",
    "unzip2",
    "unzip3",
]

T = TypeVar("T")


def unzip2(xys: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Splits pairs into their first and their second elements.

    Example:
      >>> unzip2([(1, "a"), (2, "b")])
      ((1, 2), ('a', 'b'))
    """
    pairs = [(x, y) for x, y in xys]
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)


def unzip3(
    xyzs: Iterable[tuple[Any, Any, Any]],
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Splits triples into their first, second and third elements."""
    triples = [(x, y, z) for x, y, z in xyzs]
    return (
        tuple(x for x, _, _ in triples),
        tuple(y for _, y, _ in triples),
        tuple(z for _, _, z in triples),
    )


def subvals(lst: Sequence[T], replace: Iterable[tuple[int, T]]) -> tuple[T, ...]:
    """Returns the elements of a list, some of them replaced.

    Example:
      >>> subvals([1, 2, 3], [(1, 20)])
      (1, 20, 3)
    """
    values = list(lst)
    for position, value in replace:
        values[position] = value
    return tuple(values)


def split_list(args: Sequence[T], ns: Sequence[int]) -> list[list[T]]:
    """Splits a list into lists of the given lengths, and a list of the remaining elements.

    Example:
      >>> split_list([1, 2, 3, 4], [1, 2])
      [[1], [2, 3], [4]]
    """
    remaining = list(args)
    lists = []
    for count in ns:
        lists.append(remaining[:count])
        remaining = remaining[count:]
    return [*lists, remaining]


def split_list_checked(args: Sequence[T], ns: Sequence[int]) -> list[list[T]]:
    """Splits a list into lists of the given lengths, whose sum is the length of the list.

    Raises:
      ValueError: the lengths have another sum.
    """
    if sum(ns) != len(args):
        raise ValueError(f"cannot split {len(args)} elements into lists of the lengths {list(ns)}")
    return split_list(args, ns)[:-1]


def unflatten(xs: Iterable[T], ns: Sequence[int]) -> list[list[T]]:
    """Splits elements into lists of the given lengths, whose sum is the number of elements."""
    return split_list_checked(list(xs), ns)


def partition_list(bs: Sequence[bool], l: Sequence[T]) -> tuple[list[T], list[T]]:
    """Splits a list into the elements whose flag is False and those whose flag is True.

    Example:
      >>> partition_list([False, True, False], [1, 2, 3])
      ([1, 3], [2])
    """
    lists: tuple[list[T], list[T]] = [], []
    for flag, value in zip(bs, l, strict=True):
        lists[flag].append(value)
    return lists


def merge_lists(bs: Sequence[bool], l0: Sequence[Any], l1: Sequence[Any]) -> list[Any]:
    """Merges the lists that `partition_list` returns.

    Example:
      >>> merge_lists([False, True, False], [1, 3], [2])
      [1, 2, 3]

    Raises:
      ValueError: the length of a list does not match the flags.
    """
    if len(l1) != sum(map(bool, bs)) or len(l0) + len(l1) != len(bs):
        raise ValueError(
            f"the flags {list(bs)} do not match lists of {len(l0)} and {len(l1)} elements"
        )
    sources = iter(l0), iter(l1)
    return [next(sources[bool(flag)]) for flag in bs]


def subs_list(subs: Sequence[int | None], src: Sequence[T], base: Sequence[T]) -> list[T]:
    """Returns elements of ``src`` by position, and elements of ``base`` where the position is None.

    Example:
      >>> subs_list([None, 1], ["x", "y"], ["a"])
      ['a', 'y']
    """
    remaining = iter(base)
    return [next(remaining) if position is None else src[position] for position in subs]


def subs_list2(
    subs1: Sequence[int | None],
    subs2: Sequence[int | None],
    src1: Sequence[Any],
    src2: Sequence[Any],
    base: Sequence[Any],
) -> list[Any]:
    """Returns elements of two sources by position, and elements of ``base`` where both are None."""
    remaining = iter(base)
    return [
        src1[first]
        if first is not None
        else src2[second]
        if second is not None
        else next(remaining)
        for first, second in zip(subs1, subs2, strict=True)
    ]


def concatenate(xs: Iterable[Sequence[T]]) -> list[T]:
    """Concatenates sequences."""
    return [value for sequence in xs for value in sequence]


def tuple_insert(t: tuple[T, ...], idx: int, val: T) -> tuple[T, ...]:
    """Inserts a value before a position of a tuple."""
    return (*t[:idx], val, *t[idx:])


def tuple_delete(t: tuple[T, ...], idx: int) -> tuple[T, ...]:
    """Removes the value at a position of a tuple."""
    return (*t[:idx], *t[idx + 1 :])


def tuple_update(t: tuple[T, ...], idx: int, val: T) -> tuple[T, ...]:
    """Replaces the value at a position of a tuple."""
    return (*t[:idx], val, *t[idx + 1 :])


def ceil_of_ratio(x: int, y: int) -> int:
    """Returns the quotient of two integers, rounded up."""
    return -(-x // y)


def canonicalize_axis(axis: SupportsIndex, num_dims: int) -> int:
    """Returns an axis counted from the front.

    Raises:
      ValueError: the axis is out of bounds.
    """
    position = operator.index(axis)
    if not -num_dims <= position < num_dims:
        raise ValueError(f"axis {position} is out of bounds for array of dimension {num_dims}")
    return position % num_dims


def canonicalize_axis_tuple(
    axis: int | Sequence[int] | None, ndim: int, allow_duplicate: bool = False
) -> tuple[int, ...]:
    """Returns axes counted from the front; None stands for all of them.

    Raises:
      ValueError: an axis is out of bounds, or given twice.
    """
    if axis is None:
        return tuple(range(ndim))
    listed = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    axes = tuple(canonicalize_axis(number, ndim) for number in listed)
    if not allow_duplicate and len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis: {listed}")
    return axes


def toposort(end_nodes: Sequence[Any]) -> list[Any]:
    """Sorts the nodes of a graph so that parents precede their children.

    Args:
      end_nodes: the nodes from which to start. Each node has its parents in ``parents``.
    """
    return topological_sort("parents", end_nodes)
