# SPDX-License-Identifier: Apache-2.0
"""Detection of races: unordered accesses to one element, of which at least one is a write.

Each core and each copy is an actor. An actor has a vector clock, with the last known time of every
other actor. A semaphore passes the clocks of the actors that signal it to the actors that wait for
it. An access is unordered with an earlier access of another actor if the clock of the later actor
does not cover the earlier access.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .views import read

__all__ = ["Race", "Races"]

Clock = dict[Any, int]


class Race(RuntimeError):
    """Error for two unordered accesses to one element, at least one of them a write."""


class Races:
    """Vector clocks of cores, copies and semaphores."""

    def __init__(self) -> None:
        self._clocks: dict[Any, Clock] = {}
        self._told: dict[Any, Clock] = {}
        self._places: dict[Any, Clock] = {}
        self.found: list[str] = []

    def _clock(self, actor: Any) -> Clock:
        clock = self._clocks.get(actor)
        if clock is None:
            clock = self._clocks[actor] = {actor: 1}
        return clock

    @staticmethod
    def _join(clock: Clock, other: Clock) -> None:
        for actor, time in other.items():
            if clock.get(actor, 0) < time:
                clock[actor] = time

    def fork(self, core: Any) -> Clock:
        """Returns the clock of a copy that a core starts, and advances the core's clock."""
        clock = self._clock(core)
        known = dict(clock)
        clock[core] += 1
        return known

    def begin(self, actor: Any, parent: Any) -> None:
        """Adds the clock of a parent core to the clock of a core that the parent starts."""
        clock = self._clock(actor)
        self._join(clock, self._clock(parent))
        self._clock(parent)[parent] += 1

    def end(self, actor: Any, parent: Any) -> None:
        """Adds the clock of a core that has ended to the clock of its parent."""
        self._join(self._clock(parent), self._clock(actor))

    @staticmethod
    def _semaphore(semaphore: Any) -> Any:
        return id(semaphore.buffer), semaphore._number()

    def release(self, actor: Any, semaphore: Any) -> None:
        """Adds an actor's clock to a semaphore's clock."""
        clock = self._actor_clock(actor)
        self._join(self._told.setdefault(self._semaphore(semaphore), {}), clock)
        clock[actor] = clock.get(actor, 0) + 1

    def acquire(self, actor: Any, semaphore: Any) -> None:
        """Adds a semaphore's clock to an actor's clock."""
        self._join(self._clock(actor), self._told.get(self._semaphore(semaphore), {}))

    def meet(self, actor: Any, place: Any) -> None:
        """Adds the clocks of all actors at a barrier to an actor's clock."""
        clock = self._clock(actor)
        known = self._places.setdefault(place, {})
        for other, other_clock in self._clocks.items():
            if not hasattr(other, "source"):
                self._join(known, other_clock)
        self._join(clock, known)
        clock[actor] += 1

    def _actor_clock(self, actor: Any) -> Clock:
        clock = self._clocks.get(actor)
        if clock is None:
            clock = self._clocks[actor] = {**(getattr(actor, "clock", None) or {}), actor: 1}
        return clock

    def access(self, actor: Any, site: Any, *, is_write: bool, is_atomic: bool = False) -> None:
        """Records an access and compares it with earlier ones.

        Raises:
          Race: if the access is unordered with an earlier one.
        """
        buffer = site.buffer
        clock = self._actor_clock(actor)
        if buffer.past is None:
            buffer.past = {}
        numbers = np.arange(buffer.array.size).reshape(buffer.array.shape)
        touched = read(numbers, site.transforms).reshape(-1)
        for (other, was_write, was_atomic), times in buffer.past.items():
            if other is actor or not (is_write or was_write) or (is_atomic and was_atomic):
                continue
            if np.any(times[touched] > clock.get(other, 0)):
                raise Race(
                    f"a race: {_described(actor, is_write)} and {_described(other, was_write)} the "
                    f"same elements of {buffer.name} on device {buffer.device} in no defined order"
                )
        key = (actor, is_write, is_atomic)
        if key not in buffer.past:
            buffer.past[key] = np.zeros(buffer.array.size, np.int64)
        buffer.past[key][touched] = clock.get(actor, 1)


def _described(actor: Any, is_write: bool) -> str:
    who = "a copy" if hasattr(actor, "source") else str(actor)
    return f"{who} {'writes' if is_write else 'reads'}"
