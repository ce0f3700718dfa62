# SPDX-License-Identifier: Apache-2.0
"""Simulated runs of kernels: memories of all devices, waiting on semaphores, pending copies."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .races import Races
from .views import read, write

__all__ = ["Buffer", "Meeting", "Run", "SimulationError", "Site", "Transfer"]


class SimulationError(RuntimeError):
    """Error for a kernel that cannot proceed on simulated cores."""


class Buffer:
    """An array in a memory of one core, to which references refer.

    Attributes:
      array: the elements, or the values of semaphores.
      name: name by which other cores find the buffer; cores that run one program give it the same
        name.
      device: the id of the device.
      core: the index of the core; None if the device's cores share the buffer.
    """

    __slots__ = ("array", "arrivals", "core", "device", "name", "needed", "past")

    def __init__(self, array: np.ndarray, name: Any, device: int, core: Any) -> None:
        self.array = array
        self.name = name
        self.device = device
        self.core = core
        # The earlier reads and writes of elements, if race detection is on.
        self.past: Any = None
        # For each barrier, the number of arrivals since the barrier was last opened.
        self.arrivals: dict[int, int] = {}
        self.needed = 1


def _only(array: np.ndarray) -> int:
    if array.size != 1:
        raise ValueError(
            f"an operation takes one semaphore or barrier, got {array.size} of them; index them"
        )
    return array.item()


@dataclasses.dataclass(frozen=True)
class Site:
    """A part of a buffer."""

    buffer: Buffer
    transforms: tuple[Any, ...] = ()

    def is_at(self, other: Site) -> bool:
        """Returns whether two sites are the same semaphore."""
        return self.buffer is other.buffer and self._number() == other._number()

    def keeping(self, kept: Any) -> RowsOf:
        """Returns this part without the rows for which a boolean array is false, for copies."""
        return RowsOf(self.buffer, self.transforms, kept)

    def _number(self) -> int:
        numbers = np.arange(self.buffer.array.size).reshape(self.buffer.array.shape)
        return _only(read(numbers, self.transforms))


@dataclasses.dataclass(frozen=True)
class RowsOf(Site):
    """A part of a buffer, for a copy that leaves out some rows of the part.

    Attributes:
      kept: boolean array, false for the rows that are left out.
    """

    kept: Any = None


@dataclasses.dataclass(eq=False)
class Transfer:
    """A copy that has started, with its source, its target and the semaphores that it signals.

    Attributes:
      source: part of a buffer that is copied.
      target: part of a buffer that is written.
      received: the semaphore, or barrier, that is signaled when the copy ends.
      sent: the semaphore that is signaled when the source has been read.
      add: whether the copy adds to the elements of the target.
      notify: function that notifies a barrier; without it, the semaphore counts bytes.
      clock: vector clock of the copy, if race detection is on.
    """

    source: Site
    target: Site
    received: Site
    sent: Site | None
    add: bool
    notify: Callable[[], None] | None = None
    clock: Any = None


class Run:
    """One run of a kernel on all of its devices.

    Attributes:
      num_devices: the number of devices that take part.
      eager: whether copies run when they are started, not when they are waited for.
      changed: condition that wakes up waiting cores; its lock protects the whole run.
      races: detector of races, or None.
    """

    def __init__(self, num_devices: int, cores: int, eager: bool, detect_races: bool) -> None:
        self.num_devices = num_devices
        self.eager = eager
        self.changed = threading.Condition()
        self.buffers: dict[Any, Buffer] = {}
        self.pending: list[Transfer] = []
        self.races = Races() if detect_races else None
        self.failure: BaseException | None = None
        # Expansions of equations, by the id of the equation.
        self.expanded: dict[int, Any] = {}
        self._live = num_devices * cores
        # For each waiting core, the version of the state in which its condition did not hold.
        self._waiting: dict[Any, int] = {}
        self._version = 0
        self._arrived: dict[Any, int] = {}

    # ---- waiting ----

    def touch(self) -> None:
        """Wakes the waiting cores; the caller holds the lock."""
        self._version += 1
        self.changed.notify_all()

    def wait_until(self, core: Any, ready: Callable[[], bool], problem: str) -> None:
        """Waits for a condition; the caller holds the lock.

        Raises:
          SimulationError: if all cores wait, or another core has failed.
        """
        try:
            while not self._is_ready(ready):
                self._waiting[core] = self._version
                if self._stuck():
                    self.fail(SimulationError(f"all cores wait for one another: {problem}"))
                    continue
                self.changed.wait()
        finally:
            self._waiting.pop(core, None)

    def _is_ready(self, ready: Callable[[], bool]) -> bool:
        if self.failure is not None:
            raise SimulationError(f"another core has failed: {self.failure}") from self.failure
        return ready()

    def _stuck(self) -> bool:
        return len(self._waiting) >= self._live and all(
            version == self._version for version in self._waiting.values()
        )

    def fail(self, error: BaseException) -> None:
        """Ends the run on all cores."""
        if self.failure is None:
            self.failure = error
        self.touch()

    def finish_core(self) -> None:
        """Records that one core has finished."""
        with self.changed:
            self._live -= 1
            self.touch()

    def begin_cores(self, count: int) -> None:
        """Records that a core has split into several."""
        with self.changed:
            self._live += count

    def rendezvous(self, core: Any, name: Any, count: int) -> None:
        """Waits until a number of cores have arrived."""
        with self.changed:
            number = self._arrived[name] = self._arrived.get(name, 0) + 1
            target = -(-number // count) * count
            self.touch()
            self.wait_until(
                core, lambda: self._arrived[name] >= target, f"not all have come to {name}"
            )
            if self.races is not None:
                self.races.meet(core, (name, target))

    # ---- memories ----

    def register(self, buffer: Buffer) -> Buffer:
        """Makes a buffer known to other cores by name."""
        with self.changed:
            self.buffers[buffer.device, buffer.core, buffer.name] = buffer
            self.touch()
        return buffer

    def forget(self, buffer: Buffer) -> None:
        """Removes the name of a core's buffer; cores that use the buffer keep it."""
        with self.changed:
            if not isinstance(buffer.core, tuple):
                self.buffers.pop((buffer.device, buffer.core, buffer.name), None)

    def elsewhere(self, core: Any, buffer: Buffer, device: int, on_core: Any) -> Buffer:
        """Returns another device's or core's buffer of the same name; the caller holds the lock."""
        key = (device, buffer.core if on_core is None else on_core, buffer.name)
        if key not in self.buffers and (device, None, buffer.name) in self.buffers:
            key = (device, None, buffer.name)
        self.wait_until(
            core, lambda: key in self.buffers, f"device {device} has no buffer {buffer.name}"
        )
        return self.buffers[key]

    def read(self, core: Any, site: Site) -> np.ndarray:
        """Returns the elements of a part of a buffer."""
        with self.changed:
            if self.races is not None:
                self.races.access(core, site, is_write=False)
            return read(site.buffer.array, site.transforms)

    def write(self, core: Any, site: Site, value: Any) -> None:
        """Writes a part of a buffer."""
        with self.changed:
            if self.races is not None:
                self.races.access(core, site, is_write=True)
            write(site.buffer.array, site.transforms, value)

    @contextlib.contextmanager
    def access(self, core: Any, site: Site) -> Iterator[np.ndarray]:
        """Returns a context manager that yields a buffer's array, for an atomic update."""
        with self.changed:
            if self.races is not None:
                self.races.access(core, site, is_write=True, is_atomic=True)
            yield site.buffer.array

    # ---- semaphores ----

    def signal(self, core: Any, semaphore: Site, amount: int) -> None:
        """Adds ``amount`` to a semaphore."""
        with self.changed:
            self._add(semaphore, amount)
            if self.races is not None:
                self.races.release(core, semaphore)

    def _add(self, semaphore: Site, amount: int) -> None:
        array = semaphore.buffer.array
        write(array, semaphore.transforms, read(array, semaphore.transforms) + amount)
        self.touch()

    def wait(self, core: Any, semaphore: Site, amount: int, decrement: bool = True) -> None:
        """Waits until a semaphore is at least ``amount``, which ``decrement`` then subtracts."""
        with self.changed:

            def ready() -> bool:
                while self.value(semaphore) < amount:
                    if not self._deliver(semaphore):
                        return False
                return True

            name = semaphore.buffer.name
            self.wait_until(core, ready, f"{core} waits for {amount} at semaphore {name}")
            if decrement:
                self._add(semaphore, -amount)
            if self.races is not None:
                self.races.acquire(core, semaphore)

    # ---- barriers ----

    def arrive(self, actor: Any, barrier: Site, needed: int) -> None:
        """Arrives at a barrier and opens it after enough arrivals; the caller holds the lock."""
        number = barrier._number()
        arrivals = barrier.buffer.arrivals
        arrivals[number] = arrivals.get(number, 0) + 1
        if arrivals[number] >= needed:
            arrivals[number] = 0
            self._add(barrier, 1)
        if self.races is not None:
            self.races.release(actor, barrier)
        self.touch()

    def pass_barrier(self, core: Any, barrier: Site, seen: int) -> None:
        """Waits until a barrier has been opened more than ``seen`` times."""
        with self.changed:

            def ready() -> bool:
                while self.value(barrier) <= seen:
                    if not self._deliver(barrier):
                        return False
                return True

            name = barrier.buffer.name
            self.wait_until(core, ready, f"{core} waits at barrier {name}")
            if self.races is not None:
                self.races.acquire(core, barrier)

    def is_open(self, barrier: Site, seen: int) -> bool:
        """Returns whether a barrier has been opened more than ``seen`` times."""
        with self.changed:
            while self.value(barrier) <= seen and self._deliver(barrier):
                pass
            return self.value(barrier) > seen

    def value(self, semaphore: Site) -> int:
        """Returns a semaphore's value; the caller holds the lock."""
        return _only(read(semaphore.buffer.array, semaphore.transforms))

    # ---- copies ----

    def start(self, core: Any, transfer: Transfer) -> None:
        """Starts a copy."""
        with self.changed:
            if self.races is not None:
                transfer.clock = self.races.fork(core)
            self.pending.append(transfer)
            if self.eager:
                self._perform(transfer)
            self.touch()

    def _deliver(self, semaphore: Site) -> bool:
        """Executes a pending copy that signals a semaphore; returns whether there was one."""
        for transfer in self.pending:
            if transfer.received.is_at(semaphore) or (
                transfer.sent is not None and transfer.sent.is_at(semaphore)
            ):
                self._perform(transfer)
                return True
        return False

    def _perform(self, transfer: Transfer) -> None:
        self.pending.remove(transfer)
        if self.races is not None:
            self.races.access(transfer, transfer.source, is_write=False)
            self.races.access(transfer, transfer.target, is_write=True)
        value = read(transfer.source.buffer.array, transfer.source.transforms)
        target = transfer.target
        if transfer.add:
            value = value + read(target.buffer.array, target.transforms)
        write(target.buffer.array, target.transforms, value)
        for semaphore in (transfer.received, transfer.sent):
            if semaphore is not None:
                if transfer.notify is not None:
                    transfer.notify()
                else:
                    self._add(semaphore, value.nbytes)
                if self.races is not None:
                    self.races.release(transfer, semaphore)

    def finish_transfers(self) -> None:
        """Executes the copies that no core has waited for."""
        with self.changed:
            for transfer in list(self.pending):
                self._perform(transfer)


# ---- devices that run one kernel ----


class Meeting:
    """Registry of runs, in which devices that run the same kernel find their shared run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[int, int] = {}
        self._runs: dict[int, tuple[Run, list[int]]] = {}

    def join(self, device: int, num_devices: int, make: Callable[[], Run]) -> Run:
        """Returns the run of a device's call; the n-th calls of all devices share one run.

        Args:
          device: the device that calls.
          num_devices: the number of devices that call.
          make: function that makes the run at the first call.
        """
        with self._lock:
            number = self._calls[device] = self._calls.get(device, 0) + 1
            if number not in self._runs:
                self._runs[number] = (make(), [])
            run, joined = self._runs[number]
            joined.append(device)
            if len(joined) == num_devices:
                del self._runs[number]
            return run
