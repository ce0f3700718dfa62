# SPDX-License-Identifier: Apache-2.0
"""Sharding rules: which dimensions of an operation's operands and results correspond.

A rule such as ``"i j, j k -> i k"`` assigns a factor to each dimension. Dimensions with the same
factor are sharded in the same way. ``"(a b) c -> a b c"`` has a compound factor, a product of
several factors, and ``"..."`` stands for any number of leading dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from olympus_ir.diagnostics.traceback_filtering import api_boundary

__all__ = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "parse_sharding_rule"]

# Stands for any number of leading dimensions, each with a separate factor.
BATCHING = "…"

# The kinds of factors that are not sharded as others.
_KINDS = ("reduction_factors", "need_replication_factors", "permutation_factors")


def _check_factor(name: Any) -> str:
    if not name[:1].isalpha():
        raise ValueError(f"Factor names have to start with a letter, but got '{name[:1]}'")
    if not re.fullmatch(r"\w+", name):
        raise ValueError(f"Unknown character in the factor name '{name}'")
    return name


class CompoundFactor(tuple[str, ...]):
    """The product of several factors. The first factor is the most major.

    Args:
      *factors: the names of the factors, at least two.

    Example:
      >>> CompoundFactor("a", "b")
      ('a', 'b')
    """

    @api_boundary
    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError(
                f"Brackets should contain at least two factors, a compound factor, got {factors}"
            )
        for factor in factors:
            if not isinstance(factor, str):
                raise ValueError(
                    f"Each element of CompoundFactor must be a str, but got {type(factor)}"
                )
            _check_factor(factor)
        return tuple.__new__(cls, factors)


class ArrayMapping(tuple[Any, ...]):
    """The factors of the dimensions of an array.

    Args:
      *dim_mappings: for each dimension the name of a factor, or a `CompoundFactor`; `BATCHING`, at
        the beginning, for any number of dimensions.

    Example:
      >>> ArrayMapping("i", "j")
      ('i', 'j')
    """

    @api_boundary
    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        for position, mapping in enumerate(dim_mappings):
            if isinstance(mapping, str):
                if mapping.startswith(BATCHING):
                    if position:
                        raise ValueError(
                            "Ellipsis can only be used at the beginning of a dimension"
                        )
                    suffix = mapping.removeprefix(BATCHING)
                    if suffix and not suffix.isdigit():
                        raise ValueError(f"Ellipsis can only be followed by a number: {mapping!r}")
                else:
                    _check_factor(mapping)
            elif not isinstance(mapping, CompoundFactor):
                raise ValueError(
                    "Each element of ArrayMapping must be a str or CompoundFactor, but got "
                    f"{type(mapping)}"
                )
        return tuple.__new__(cls, dim_mappings)


class SdyShardingRule:
    """Correspondence of the dimensions of an operation's operands and results.

    Args:
      operand_mappings: the factors of each operand.
      result_mappings: the factors of each result.
      reduction_factors: factors over which devices hold partial sums of results.
      need_replication_factors: factors that must not be sharded.
      permutation_factors: factors along which devices exchange shards.
      **factor_sizes: the sizes of factors that do not follow from the sizes of dimensions.

    Raises:
      TypeError: a size is not an integer.
      ValueError: factors and their sizes are inconsistent.
    """

    @api_boundary
    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings = tuple(operand_mappings)
        self.result_mappings = tuple(result_mappings)
        self.reduction_factors = tuple(reduction_factors)
        self.need_replication_factors = tuple(need_replication_factors)
        self.permutation_factors = tuple(permutation_factors)
        self.factor_sizes = dict(factor_sizes)
        if not all(isinstance(size, int) for size in factor_sizes.values()):
            raise TypeError(f"factor_sizes must be a dict of str to int, but got {factor_sizes}")
        self._check()

    def _check(self) -> None:
        alone: set[str] = set()
        compound: set[str] = set()
        for mapping in (*self.operand_mappings, *self.result_mappings):
            for dimension in mapping:
                if isinstance(dimension, CompoundFactor):
                    compound |= set(dimension)
                elif not dimension.startswith(BATCHING):
                    alone.add(dimension)
        self._check_sizes(alone, compound)
        self._check_kinds(alone | compound)

    def _check_sizes(self, single: set[str], compound: set[str]) -> None:
        """Checks that sizes are given for the factors that occur in compound factors only.

        Args:
          single: the factors that are whole dimensions.
          compound: the factors that are parts of a dimension.
        """
        for name in self.factor_sizes:
            if name not in single | compound:
                raise ValueError(f"Factor {name} is not used in the rule, but size is provided")
            if name in single:
                raise ValueError(
                    f"Factor {name} represents a whole dimension; do not specify its size"
                )
        for name in compound - single - set(self.factor_sizes):
            raise ValueError(
                f"Factor {name} is only used in compound factors; must specify its size"
            )

    def _check_kinds(self, used: set[str]) -> None:
        """Checks that a factor of a special kind is used, and has no other kind."""
        named: set[str] = set()
        for kind in _KINDS:
            for name in getattr(self, kind):
                if name not in used:
                    raise ValueError(f"Factor {name} in {kind} is not used in the rule")
                if name in named:
                    raise ValueError(
                        f"Factor {name} can only be in one of reduction_factors, "
                        "need_replication_factors and permutation_factors"
                    )
                named.add(name)

    def _key(self) -> tuple:
        return (
            self.operand_mappings,
            self.result_mappings,
            self.reduction_factors,
            self.need_replication_factors,
            self.permutation_factors,
            tuple(sorted(self.factor_sizes.items())),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SdyShardingRule) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        mappings = f"{self.operand_mappings}, {self.result_mappings}, {self.factor_sizes}"
        kinds = [f" {kind}={value}" for kind in _KINDS if (value := getattr(self, kind))]
        return f"SdyShardingRule({mappings}{''.join(kinds)})"

    # ---- rules for arrays of given shapes ----

    def attribute_text(
        self, operand_shapes: Sequence[Sequence[int]], result_shapes: Sequence[Sequence[int]]
    ) -> str:
        """Returns the rule in Shardy's form, for operands and results of given shapes.

        Raises:
          ValueError: the rule does not fit the shapes.
        """
        for role, mappings, shapes in (
            ("operands", self.operand_mappings, operand_shapes),
            ("results", self.result_mappings, result_shapes),
        ):
            # An empty side stands for one scalar, or for no arrays.
            if len(mappings) != len(shapes) and (shapes or mappings != (ArrayMapping(),)):
                raise ValueError(
                    f"Sharding rule has {len(mappings)} {role}, but the operation has "
                    f"{len(shapes)} {role}"
                )
        sizes: dict[str, int] = dict(self.factor_sizes)
        order: list[str] = []
        arrays = [
            [
                self._dimension_factors(dimension, size, sizes, order, (position, place, shape))
                for place, (dimension, size) in enumerate(
                    _expanded(mapping, shape, position, sizes)
                )
            ]
            for position, (mapping, shape) in enumerate(
                zip(
                    (
                        *self.operand_mappings[: len(operand_shapes)],
                        *self.result_mappings[: len(result_shapes)],
                    ),
                    (*operand_shapes, *result_shapes),
                    strict=True,
                )
            )
        ]
        letters = {name: _letter(index) for index, name in enumerate(order)}

        def written(some: Sequence[Sequence[Sequence[str]]]) -> str:
            return ", ".join(
                f"[{', '.join(''.join(map(letters.__getitem__, f)) for f in array)}]"
                for array in some
            )

        count = len(operand_shapes)
        sizes_text = ", ".join(f"{letters[name]}={sizes[name]}" for name in order)
        special = ""
        for word, names in (
            ("reduction", self.reduction_factors),
            ("need_replication", self.need_replication_factors),
            ("permutation", self.permutation_factors),
        ):
            if names:
                ordered = sorted(names, key=order.index)
                special += f" {word}={{{', '.join(letters[name] for name in ordered)}}}"
        return (
            f"#sdy.op_sharding_rule<({written(arrays[:count])})->({written(arrays[count:])}) "
            f"{{{sizes_text}}}{special}, custom>"
        )

    def _dimension_factors(
        self, dimension: Any, size: int, sizes: dict[str, int], order: list[str], where: tuple
    ) -> list[str]:
        names = list(dimension) if isinstance(dimension, CompoundFactor) else [dimension]
        product = 1
        for name in names:
            if name not in order:
                order.append(name)
            if len(names) == 1 and name not in sizes:
                sizes[name] = size
            product *= sizes.get(name, 1)
        if product != size:
            position, place, shape = where
            raise ValueError(
                f"Sharding rule {self!r}: dimension {place} of array {position}, of shape "
                f"{tuple(shape)}, has size {size}, and its factors {names} have {product}"
            )
        return names


def _expanded(
    mapping: ArrayMapping, shape: Sequence[int], position: int, sizes: Mapping[str, int]
) -> list[tuple[Any, int]]:
    """Returns the dimensions of an array with their factors, with leading dimensions expanded."""
    factors: list[Any] = list(mapping)
    if factors and isinstance(factors[0], str) and factors[0].startswith(BATCHING):
        name = factors.pop(0)
        count = len(shape) - len(factors)
        if count < 0:
            raise ValueError(
                f"Sharding rule has at least {len(factors)} dimensions for array {position}, which "
                f"has {len(shape)}"
            )
        factors = [f"{name}_{index}" for index in range(count)] + factors
    if len(factors) != len(shape):
        raise ValueError(
            f"Sharding rule has {len(factors)} dimensions for array {position}, which has "
            f"{len(shape)}"
        )
    return list(zip(factors, shape, strict=True))


def _letter(number: int) -> str:
    """Returns the name of a factor in Shardy's rules: i to z, then z_1, z_2 and so on."""
    return chr(ord("i") + number) if number < 18 else f"z_{number - 17}"


# ---- rules as text ----


def parse_sharding_rule(
    rule: str,
    reduction_factors: Sequence[str] = (),
    need_replication_factors: Sequence[str] = (),
    permutation_factors: Sequence[str] = (),
    **factor_sizes: int,
) -> SdyShardingRule:
    """Parses the text of a rule such as ``"i j, j k -> i k"``.

    An empty side, or nothing between two commas, is a scalar.

    Raises:
      TypeError: the rule is not a string.
      ValueError: the text is not of this form.

    Example:
      >>> parse_sharding_rule("... i, i -> ...")
      SdyShardingRule((('…', 'i'), ('i',)), (('…',),), {})
    """
    if not isinstance(rule, str):
        raise TypeError(f"rule must be a str, but got {type(rule)}")
    if BATCHING in rule:
        raise ValueError(f"Unknown character '{BATCHING}' in rule {rule!r}: write '...'")
    # An ellipsis, with a number if there are several, is a token of its own.
    text = re.sub(r"\.\.\.(\d*)", rf" {BATCHING}\1 ", rule)
    if "." in text:
        raise ValueError(f"Character '.' must be used inside ellipsis '...': {rule!r}")
    sides = text.split("->")
    if len(sides) == 1:
        raise ValueError(f"There is no -> in rule: {rule!r}")
    if len(sides) > 2:
        raise ValueError(f"There is more than one -> in rule: {rule!r}")
    operands, results = (
        tuple([_parse_array(part, rule) for part in side.split(",")]) for side in sides
    )
    return SdyShardingRule(
        operands,
        results,
        reduction_factors=tuple(reduction_factors),
        need_replication_factors=tuple(need_replication_factors),
        permutation_factors=tuple(permutation_factors),
        **factor_sizes,
    )


def _parse_array(text: str, rule: str) -> ArrayMapping:
    dimensions: list[Any] = []
    compound: list[str] | None = None
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            if compound is not None:
                raise ValueError(f"Compound factors should be one level: {rule!r}")
            compound = []
        elif token == ")":
            if compound is None:
                raise ValueError(f"Brackets are not balanced: {rule!r}")
            dimensions.append(CompoundFactor(*compound))
            compound = None
        elif compound is not None:
            if token.startswith(BATCHING):
                raise ValueError(
                    f"Ellipsis can only be used at the beginning of a dimension: {rule!r}"
                )
            compound.append(token)
        else:
            dimensions.append(token)
    if compound is not None:
        raise ValueError(f"Brackets are not balanced: {rule!r}")
    return ArrayMapping(*dimensions)
