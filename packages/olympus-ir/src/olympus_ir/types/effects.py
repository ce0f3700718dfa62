# SPDX-License-Identifier: Apache-2.0
"""Effects: actions of an equation besides computing its results.

The effects are part of an equation's type. Tokens put ordered effects into sequence. An equation
with an effect is not removed as dead code.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as Set
from typing import TypeAlias


class Effect:
    """Base of effects. Equal effects count as one effect. By default, the hash is by identity."""

    __slots__ = ()


Effects: TypeAlias = Set[Effect]
no_effects: frozenset[Effect] = frozenset()


class EffectTypeSet:
    """Set of the effect classes that a construct admits. Subclasses are members, too."""

    def __init__(self) -> None:
        self._types: tuple[type[Effect], ...] = ()

    def add_type(self, effect_type: type[Effect]) -> None:
        if effect_type not in self._types:
            self._types = (*self._types, effect_type)

    def contains(self, effect: Effect) -> bool:
        return isinstance(effect, self._types)

    def __contains__(self, effect: Effect) -> bool:
        return isinstance(effect, self._types)

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        return [effect for effect in effects if effect in self]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        return [effect for effect in effects if effect not in self]


# Sets of effects, for example the effects that may be lowered, and the effects that tokens order.
lowerable_effects = EffectTypeSet()
ordered_effects = EffectTypeSet()
control_flow_allowed_effects = EffectTypeSet()
custom_derivatives_allowed_effects = EffectTypeSet()
checkpoint_allowed_effects = EffectTypeSet()
partial_evaluation_kept_effects = EffectTypeSet()
# Effects of mutable references, recorded only for programs that take or return references.
reference_effects = EffectTypeSet()


class DebugEffect(Effect):
    """Effect of printing and other debugging callbacks."""

    def __repr__(self) -> str:
        return "Debug"


class OrderedDebugEffect(Effect):
    """Effect of debugging callbacks that run in program order."""

    def __repr__(self) -> str:
        return "OrderedDebug"


class IOEffect(Effect):
    """Effect of input and output through callbacks."""

    def __repr__(self) -> str:
        return "IO"


class OrderedIOEffect(Effect):
    """Effect of input and output through callbacks that run in program order."""

    def __repr__(self) -> str:
        return "OrderedIO"


debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
io_effect = IOEffect()
ordered_io_effect = OrderedIOEffect()

for _effect_type in (DebugEffect, OrderedDebugEffect, IOEffect, OrderedIOEffect):
    lowerable_effects.add_type(_effect_type)
    control_flow_allowed_effects.add_type(_effect_type)
    checkpoint_allowed_effects.add_type(_effect_type)
for _effect_type in (OrderedDebugEffect, OrderedIOEffect):
    ordered_effects.add_type(_effect_type)
for _effect_type in (DebugEffect, OrderedDebugEffect):
    custom_derivatives_allowed_effects.add_type(_effect_type)
    partial_evaluation_kept_effects.add_type(_effect_type)


class NamedAxisEffect(Effect):
    """Use of a named axis. A program's effects thus list the axes that must be bound."""

    __slots__ = ("name",)

    def __init__(self, name: object) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedAxisEffect) and self.name == other.name

    def __hash__(self) -> int:
        return hash((NamedAxisEffect, self.name))

    def __repr__(self) -> str:
        return f"NamedAxis({self.name})"


lowerable_effects.add_type(NamedAxisEffect)
control_flow_allowed_effects.add_type(NamedAxisEffect)
custom_derivatives_allowed_effects.add_type(NamedAxisEffect)
checkpoint_allowed_effects.add_type(NamedAxisEffect)


class RefEffect(Effect):
    """Effect of using a mutable reference.

    The effects of an equation describe its accesses to the references among its operands.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return self._name


class ReadEffect(RefEffect):
    """Effect of reading a reference."""

    __slots__ = ()


class WriteEffect(RefEffect):
    """Effect of writing a reference."""

    __slots__ = ()


class AccumEffect(RefEffect):
    """Effect of adding to the value of a reference."""

    __slots__ = ()


class AllocationEffect(RefEffect):
    """Effect of creating a reference or ending its life, possibly inside a nested program."""

    __slots__ = ()


read_effect = ReadEffect("Read")
write_effect = WriteEffect("Write")
accum_effect = AccumEffect("Accum")
allocation_effect = AllocationEffect("Allocate")

for _effects in (
    lowerable_effects,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    checkpoint_allowed_effects,
    partial_evaluation_kept_effects,
    reference_effects,
):
    _effects.add_type(RefEffect)
