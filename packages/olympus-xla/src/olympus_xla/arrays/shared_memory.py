# SPDX-License-Identifier: Apache-2.0
"""Arrays that share the memory of other arrays, and the deletion of all of them.

An array over several devices shares memory with the parts that it was made of, with the parts that
`Shard.data` returns, and with arrays of an equivalent sharding. When one of these is deleted, the
others are lost, too. C++ runs a program on several devices unless one of its operands was itself
deleted, and the process ends if the memory of an operand is gone. Therefore the deletion of an
array deletes every array over several devices that has lost memory by it, with all of its parts.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TypeAlias

from .._jaxlib import ArrayImpl

__all__ = ["note_alias", "note_parts", "part_of"]

# The attribute of an array that holds, for each of its parts, references to the arrays over several
# devices that have this part.
_OWNERS = "_owners_of_parts"
_Owners: TypeAlias = "list[weakref.ref]"


def note_parts(array: ArrayImpl, parts: Sequence[ArrayImpl]) -> None:
    """Notes that an array was made of single-device arrays, in their order."""
    _note_owner(array, [owners for part in parts for owners in _owners_of_parts(part)])


def note_alias(alias: ArrayImpl, array: ArrayImpl) -> ArrayImpl:
    """Notes that an array has the memory of another, part by part; returns the first."""
    if alias is not array:
        _note_owner(alias, _owners_of_parts(array))
    return alias


def part_of(array: ArrayImpl, position: int) -> ArrayImpl:
    """Returns a part of an array, a single-device array in the same memory."""
    part = array._arrays[position]
    if part is not array:
        part.__dict__[_OWNERS] = [_owners_of_parts(array)[position]]
    return part


def _owners_of_parts(array: ArrayImpl) -> list[_Owners]:
    """Returns the owners of each part of an array."""
    found = array.__dict__.get(_OWNERS)
    if found is None:
        count = 1 if array._sharding.num_devices == 1 else len(array._arrays)
        found = [[] for _ in range(count)]
        _note_owner(array, found)
    return found


def _note_owner(array: ArrayImpl, owners_of_parts: list[_Owners]) -> None:
    array.__dict__[_OWNERS] = owners_of_parts
    if array._sharding.num_devices == 1:
        return
    reference = weakref.ref(array)
    for owners in owners_of_parts:
        owners[:] = [other for other in owners if other() is not None]
        owners.append(reference)


_delete_alone = ArrayImpl.delete


def _delete(self: ArrayImpl) -> None:
    """Frees the memory of the array, and of all arrays that share it."""
    _delete_alone(self)
    for owners in self.__dict__.pop(_OWNERS, ()):
        for reference in owners:
            owner = reference()
            if owner is not None and _OWNERS in owner.__dict__:  # it is not deleted yet
                owner.delete()


ArrayImpl.delete = _delete
