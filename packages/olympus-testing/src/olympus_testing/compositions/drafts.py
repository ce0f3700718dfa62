# SPDX-License-Identifier: Apache-2.0
"""Drafts: functions that are being written, statement by statement, at random."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence

from .programs import Function, Kind, Statement, Value

__all__ = ["Draft", "Dtypes", "elements", "random_kind"]

#: A family of operations adds one statement to a draft; it does nothing where no value fits.
Family = Callable[["Draft"], object]


#: The largest number of elements of an array in a program.
LARGEST = 200


class _TooLargeError(Exception):
    """Error for an operation whose result would be too large."""


@dataclasses.dataclass(frozen=True)
class Dtypes:
    """The dtypes of a program, by name, in the order of promotion."""

    boolean: str = "bool"
    byte: str = "uint8"
    place: str = "int32"
    integer: str = "int32"
    half: str = "bfloat16"
    real: str = "float32"
    complex: str = "complex64"

    @property
    def every(self) -> tuple[str, ...]:
        """Returns all dtypes in the order of promotion."""
        return tuple(dict.fromkeys(dataclasses.astuple(self)))

    def promoted(self, *dtypes: str) -> str:
        """Returns the dtype of an operation on arrays of these dtypes."""
        return max(dtypes, key=self.every.index)


NARROW = Dtypes()
WIDE = Dtypes(place="int32", integer="int64", half="float64", real="float64", complex="complex128")


@dataclasses.dataclass
class Counter:
    """A source of numbers for names that are unique in a program."""

    number: int = 0

    def next(self) -> int:
        """Returns the next number."""
        self.number += 1
        return self.number


@dataclasses.dataclass
class Draft:
    """A function that is being written.

    Attributes:
      chooser: the source of randomness.
      dtypes: the dtypes of the program.
      values: the variables that statements can read.
      families: the families of operations to choose from.
      counter: the source of names.
      depth: the number of enclosing functions.
      smooth: whether to leave out operations that finite differences cannot follow.
      devices: the number of devices.
    """

    chooser: random.Random
    dtypes: Dtypes
    values: list[Value]
    families: Sequence[Family]
    counter: Counter = dataclasses.field(default_factory=Counter)
    depth: int = 0
    smooth: bool = False
    devices: int = 1
    statements: list[Statement] = dataclasses.field(default_factory=list)

    def name(self, prefix: str = "v") -> str:
        """Returns a name that the program has not used."""
        return f"{prefix}{self.counter.next()}"

    def chance(self, probability: float) -> bool:
        """Returns True with the given probability."""
        return self.chooser.random() < probability

    def add(
        self,
        template: str,
        operands: Sequence[Value],
        shape: Sequence[int],
        dtype: str,
        bodies: Sequence[Function] = (),
    ) -> Value:
        """Adds a statement that assigns one value, and returns the value."""
        return self.add_several(template, operands, [Kind(tuple(shape), dtype)], bodies)[0]

    def add_several(
        self,
        template: str,
        operands: Sequence[Value],
        kinds: Sequence[Kind],
        bodies: Sequence[Function] = (),
    ) -> tuple[Value, ...]:
        """Adds a statement that assigns the items of a tuple."""
        targets = tuple(Value(self.name(), kind) for kind in kinds)
        names = tuple(value.name for value in operands)
        if any(kind.size > LARGEST for kind in kinds):
            raise _TooLargeError
        self.statements.append(Statement(targets, template, names, tuple(bodies)))
        self.values += targets
        return targets

    def pick(self, category: str = "any", rank: Callable[[int], bool] | None = None) -> Value:
        """Returns a random value, preferably a recent one; converts a value if none fits.

        Args:
          category: "any", "float", "inexact", "complex", "integer", "real" or "boolean".
          rank: a function that returns whether a number of dimensions fits; None if all fit.
        """
        fitting = [
            value
            for value in self.values
            if _is(value.kind, category) and (rank is None or rank(len(value.kind.shape)))
        ]
        if fitting:
            recent = fitting[-3:]
            return self.chooser.choice(recent if self.chance(0.6) else fitting)
        value = self.chooser.choice(self.values)
        kind = value.kind
        if rank is not None and not rank(len(kind.shape)):
            kind = random_kind(self.chooser, [kind.dtype], rank)
        if not _is(kind, category):
            dtype = {
                "complex": self.dtypes.complex,
                "integer": self.dtypes.integer,
                "boolean": "bool",
            }.get(category, self.dtypes.real)
            kind = Kind(kind.shape, dtype)
        return self.fit(value, kind)

    def sized(self, category: str = "any", rank: Callable[[int], bool] | None = None) -> Value:
        """Returns a random value without dimensions of size zero."""
        value = self.pick(category, rank)
        if value.kind.size:
            return value
        return self.fit(
            value, Kind(tuple(size or 2 for size in value.kind.shape), value.kind.dtype)
        )

    def like(self, kind: Kind, category: str = "any") -> Value:
        """Returns a random value that broadcasts to the shape of a type."""
        fitting = [
            value
            for value in self.values
            if _is(value.kind, category) and _broadcasts(value.kind.shape, kind.shape)
        ]
        if fitting and self.chance(0.9):
            return self.chooser.choice(fitting)
        value = self.pick(category)
        return self.fit(value, Kind(kind.shape, value.kind.dtype))

    def fit(self, value: Value, kind: Kind) -> Value:
        """Returns a value converted to a type; adds the statements that convert it."""
        if value.kind == kind:
            return value
        text = _converted("$0", value.kind, kind)
        return self.add(text, [value], kind.shape, kind.dtype)

    def body(
        self,
        parameters: Sequence[Kind],
        results: Sequence[Kind],
        *,
        length: int = 3,
        closed: bool = False,
        bounded: bool = False,
        single: bool = False,
        families: Sequence[Family] | None = None,
        layout: tuple[str, str] | None = None,
    ) -> Function:
        """Returns a function with given types, written at random.

        Args:
          parameters: the types of the parameters.
          results: the types of the results.
          length: the greatest number of operations.
          closed: whether the function reads no variables of enclosing functions.
          bounded: whether floats in the results are kept small, as a loop's carry needs.
          single: whether the function returns its only result itself, not in a tuple.
          families: the families of operations to choose from; the families of this draft if None.
          layout: see `Function`.
        """
        own = [Value(self.name("p"), kind) for kind in parameters]
        around = [] if closed else [v for v in self.values if self.chance(0.3)]
        known = [*around, *own]
        inner = Draft(
            self.chooser,
            self.dtypes,
            known or [self.chooser.choice(self.values)],
            self.families if families is None else families,
            self.counter,
            self.depth + 1,
            self.smooth,
            self.devices,
        )
        inner.write(self.chooser.randint(1, length))
        chosen = []
        for kind in results:
            fitting = [value for value in inner.values if value.kind == kind][-1:]
            if not fitting or self.chance(0.6):
                fitting = [inner.fit(self.chooser.choice(inner.values[-2:]), kind)]
            value = fitting[0]
            if bounded and kind.is_inexact:
                text = "jnp.tanh($0)" if kind.is_float else "$0 / (1 + abs($0))"
                value = inner.add(text, [value], kind.shape, kind.dtype)
            chosen.append(value.name)
        name = self.name("g")
        return Function(name, tuple(own), tuple(inner.statements), tuple(chosen), single, layout)

    def write(self, length: int) -> None:
        """Adds operations at random."""
        for _ in range(length):
            statements, values = len(self.statements), len(self.values)
            try:
                self.chooser.choice(self.families)(self)
            except _TooLargeError:
                del self.statements[statements:], self.values[values:]


def _is(kind: Kind, category: str) -> bool:
    match category:
        case "any":
            return True
        case "float":
            return kind.is_float
        case "inexact":
            return kind.is_inexact
        case "complex":
            return kind.is_complex
        case "integer":
            return kind.is_integer
        case "boolean":
            return kind.dtype == "bool"
        case "real":
            return not kind.is_complex
        case _:
            return kind.dtype == category


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    if len(shape) > len(target):
        return False
    ends = zip(reversed(shape), reversed(target), strict=False)
    return all(size in (1, expected) for size, expected in ends)


def _converted(text: str, kind: Kind, target: Kind) -> str:
    if kind.is_complex and not target.is_complex:
        text = f"jnp.real({text})"
    if kind.is_inexact and not target.is_inexact and target.dtype != "bool":
        text = f"jnp.clip({text}, 0, 50)"
    if target.dtype == "bool" and kind.dtype != "bool":
        text = f"({text} > 0.5)" if not kind.is_complex else f"({text} > 0.25)"
        kind = Kind(kind.shape, "bool")
    if kind.shape != target.shape:
        if target.shape == ():
            text = (
                f"jnp.sum({text}, dtype='{kind.dtype}')"
                if kind.dtype != "bool"
                else f"jnp.any({text})"
            )
        elif kind.size == target.size:
            text = f"jnp.reshape({text}, {target.shape})"
        elif kind.size == 0:
            whole = "jnp.any" if kind.dtype == "bool" else "jnp.sum"
            text = f"jnp.broadcast_to({whole}({text}), {target.shape})"
        else:
            text = f"jnp.resize({text}, {target.shape})"
    return (
        text
        if text.startswith("(") or kind.dtype == target.dtype == "bool"
        else f"{text}.astype('{target.dtype}')"
    )


def random_kind(
    chooser: random.Random,
    dtypes: Sequence[str],
    rank: Callable[[int], bool] | None = None,
    empty: float = 0.02,
) -> Kind:
    """Returns a type with few elements."""
    ranks = [count for count in (0, 1, 1, 2, 2, 2, 3) if rank is None or rank(count)] or [4]
    sizes = [chooser.choice((1, 2, 2, 3, 3, 4)) for _ in range(chooser.choice(ranks))]
    if sizes and chooser.random() < empty:
        sizes[chooser.randrange(len(sizes))] = 0
    return Kind(tuple(sizes), chooser.choice(dtypes))


def elements(chooser: random.Random, kind: Kind) -> str:
    """Returns random elements of a type, as the text of a list."""
    if kind.dtype == "bool":
        numbers: list[object] = [chooser.random() < 0.5 for _ in range(kind.size)]
    elif kind.is_integer:
        low, high = (0, 9) if kind.dtype == "uint8" else (-5, 9)
        numbers = [chooser.randint(low, high) for _ in range(kind.size)]
    elif kind.dtype == "bfloat16":
        numbers = [chooser.randint(-32, 32) / 16 for _ in range(kind.size)]
    elif kind.is_complex:
        numbers = [
            complex(chooser.randint(-40, 40) / 20, chooser.randint(-40, 40) / 20)
            for _ in range(kind.size)
        ]
    else:
        numbers = [chooser.randint(-200, 200) / 100 for _ in range(kind.size)]
    return repr(numbers)
