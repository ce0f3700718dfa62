# SPDX-License-Identifier: Apache-2.0
"""Registry of bit generators, and the dtypes of their keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir.settings import config
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.extended_dtypes import ExtendedDType, prng_key
from olympus_ir.types.records import Record

__all__ = ["KeyType", "PRNGImpl", "default_implementation", "find_implementation", "register_prng"]


class PRNGImpl(Record):
    """Counter-based bit generator, given as functions of the data of one key.

    Attributes:
      key_shape: the shape of the uint32 array that holds one key.
      seed: makes a key from an integer scalar.
      split: makes keys of shape ``(*shape, *key_shape)`` from a key and a shape.
      random_bits: makes unsigned integers from a key, a bit width and a shape.
      fold_in: makes a key from a key and a uint32 scalar.
      name: the name by which users choose the generator.
      tag: the short name in the dtype of keys, as in ``key<fry>``.
    """

    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    random_bits: Callable[[Any, int, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    name: str
    tag: str

    def __init__(
        self,
        key_shape: tuple[int, ...],
        seed: Callable[[Any], Any],
        split: Callable[[Any, tuple[int, ...]], Any],
        random_bits: Callable[[Any, int, tuple[int, ...]], Any],
        fold_in: Callable[[Any, Any], Any],
        name: str,
        tag: str,
    ) -> None:
        super().__init__(
            key_shape=key_shape,
            seed=seed,
            split=split,
            random_bits=random_bits,
            fold_in=fold_in,
            name=name,
            tag=tag,
        )

    # Generators are compared by identity.
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self.tag

    def __reduce__(self) -> tuple:
        return (find_implementation, (self.name,))


_implementations: dict[str, PRNGImpl] = {}


def register_prng(implementation: PRNGImpl) -> PRNGImpl:
    """Registers a bit generator under its name.

    Args:
      implementation: the generator.

    Returns:
      The generator.

    Raises:
      ValueError: the name is taken.
    """
    if implementation.name in _implementations:
        raise ValueError(f"PRNG with name {implementation.name} already registered")
    _implementations[implementation.name] = implementation
    return implementation


def find_implementation(choice: Any) -> PRNGImpl:
    """Returns the bit generator for a name, a dtype of keys, or a generator.

    Args:
      choice: a name, a `KeyType` or a `PRNGImpl`.

    Raises:
      ValueError: no generator has the name.
      TypeError: ``choice`` has an unsupported type.
    """
    if isinstance(choice, str):
        found = _implementations.get(choice)
        if found is None:
            known = ", ".join(f'"{name}"' for name in _implementations)
            raise ValueError(
                f'unrecognized PRNG implementation "{choice}". Did you mean one of: {known}?'
            )
        return found
    if isinstance(choice, PRNGImpl):
        return choice
    if isinstance(choice, KeyType):
        return choice.implementation
    raise TypeError(
        "a PRNG implementation is given by its name, such as 'threefry2x32', or by the dtype of "
        f"keys; got {choice!r} of type {type(choice).__name__}"
    )


def default_implementation() -> PRNGImpl:
    """Returns the configured bit generator, which keys use by default."""
    return find_implementation(config.default_prng_impl.value)


class KeyType(ExtendedDType):
    """Dtype of the typed keys of one bit generator.

    Args:
      implementation: the generator.

    Example:
      >>> KeyType(find_implementation("threefry2x32"))
      key<fry>
    """

    __slots__ = ("implementation",)

    type = prng_key
    implementation: PRNGImpl

    def __init__(self, implementation: PRNGImpl) -> None:
        self.implementation = implementation

    @property
    def name(self) -> str:
        return f"key<{self.implementation.tag}>"

    @classmethod
    def from_name(cls, name: str) -> KeyType | None:
        kinds = map(cls, _implementations.values())
        return next((kind for kind in kinds if kind.name == name), None)

    @property
    def itemsize(self) -> int:
        return math.prod(self.implementation.key_shape) * np.dtype(np.uint32).itemsize

    def physical_element_aval(self) -> ShapedArray:
        return ShapedArray(self.implementation.key_shape, np.uint32)

    def __eq__(self, other: object) -> bool:
        return type(other) is KeyType and self.implementation is other.implementation

    def __hash__(self) -> int:
        return hash((KeyType, self.implementation))

    def __reduce__(self) -> tuple:
        return (KeyType, (self.implementation,))
