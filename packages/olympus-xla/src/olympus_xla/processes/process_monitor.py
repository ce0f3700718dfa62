# SPDX-License-Identifier: Apache-2.0
"""Monitor that raises an exception in this process when another process dies.

A thread polls the coordination service for the live processes. If a process disappears without an
announcement, the thread leaves the service, because the end of the service would end this process,
too. It then sends the main thread a signal whose handler raises the exception. The runtime checks
for signals while it waits, so the exception also ends a wait for a collective that will never
finish. Other waits end because the monitor closes the connections of collectives.

A process in which a callback of a shared computation failed leaves the service in the same way.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from .._jaxlib import JaxRuntimeError, PjitFunctionCache
from ..platforms.collective_connections import break_connections

__all__ = ["ProcessFailureError", "ProcessMonitor"]


# The seconds that the main thread has to raise the exception before its collectives are ended.
_PATIENCE = 1.0


class ProcessFailureError(RuntimeError):
    """Error for processes of the program that have died.

    Computations with these processes are lost. No further computation over several processes is
    possible, so the program should save its state and exit.

    Args:
      failed_devices: the known devices of these processes.

    Attributes:
      failed_devices: the known devices of these processes.
      failed_processes: the indices of these processes.
    """

    def __init__(self, failed_devices: Collection[Any]) -> None:
        super().__init__(f"the processes of the devices {failed_devices} died")
        self.failed_devices = frozenset(failed_devices)
        self.failed_processes = frozenset(device.process_index for device in self.failed_devices)

    @classmethod
    def of_processes(
        cls, failed_devices: Collection[Any], failed_processes: Collection[int], message: str
    ) -> ProcessFailureError:
        """Returns the error for failed processes, whose devices may be only partly known.

        Args:
          failed_devices: the known devices of these processes.
          failed_processes: the indices of these processes.
          message: the message of the error.
        """
        error = cls(failed_devices)
        error.args = (message,)
        error.failed_processes = frozenset(failed_processes)
        return error


class ProcessMonitor:
    """Monitor of the other processes, which runs in a separate thread.

    Args:
      client: the client of the coordination service.
      process_id: the index of this process.
      num_processes: the number of processes.
      heartbeat_timeout: the seconds after which the service considers a silent process dead.
      devices_of: a function that returns the known devices of given processes.
    """

    def __init__(
        self,
        client: Any,
        process_id: int,
        num_processes: int,
        heartbeat_timeout: float,
        devices_of: Callable[[frozenset[int]], frozenset[Any]],
    ) -> None:
        self.failure: ProcessFailureError | None = None
        self._client = client
        self._process_id = process_id
        self._everybody = list(range(num_processes))
        self._heartbeat_timeout = heartbeat_timeout
        self._devices_of = devices_of
        # The interval delays the detection of a death. It can be short, because polling is cheap.
        self._interval = min(max(heartbeat_timeout / 20, 0.05), 1.0)
        self._stopping = threading.Event()
        self._own_problem = ""
        self._raised = threading.Event()
        self._signal = _claim_signal(self._raise_failure)
        self._main_thread = threading.main_thread().ident
        self._thread = threading.Thread(
            target=self._watch, name="olympus-process-monitor", daemon=True
        )

    def start(self) -> None:
        """Starts the monitoring thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stops treating the absence of a process as a failure."""
        self._stopping.set()

    def join(self, timeout: float) -> None:
        """Waits for the end of the thread, which ends when the client has left the service."""
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def restore_signal(self) -> None:
        """Restores the default action of the signal, which had no handler before."""
        if self._signal is not None and threading.current_thread() is threading.main_thread():
            signal.signal(self._signal, signal.SIG_DFL)
            self._signal = None

    def say_good_bye(self) -> None:
        """Announces to the other processes that this process will leave."""
        self._client.key_value_set(_good_bye(self._process_id), "1", allow_overwrite=True)

    def announce(self, problem: str) -> None:
        """Lets the monitoring thread leave the service, from which the other processes learn of it.

        Args:
          problem: why this process cannot take part in further computations.
        """
        self._own_problem = problem

    # ---- the monitoring thread ----

    def _watch(self) -> None:
        incarnations: dict[int, int] = {}
        left: set[int] = set()
        while True:
            try:
                live = self._client.get_live_nodes(self._everybody)
                missing = {p for p in self._everybody if p not in live} - left
                # A process that has died and restarted counts as dead.
                missing |= {p for p in live if incarnations.setdefault(p, live[p]) != live[p]}
                left |= {p for p in missing if self._has_said_good_bye(p)}
            except JaxRuntimeError as error:
                if not self._stopping.is_set():
                    self._fail(frozenset(), f"the coordination service does not answer: {error}")
                return
            if self._stopping.is_set():
                return
            if self._own_problem:
                self._fail(frozenset({self._process_id}), self._own_problem, interrupts=False)
                return
            missing -= left
            if missing:
                names = ", ".join(map(str, sorted(missing)))
                self._fail(
                    frozenset(missing),
                    f"process{'es' if len(missing) > 1 else ''} {names} of "
                    f"{len(self._everybody)} died: no sign of life for "
                    f"{self._heartbeat_timeout:g} seconds, or the connection broke",
                )
                return
            self._stopping.wait(self._interval)

    def _has_said_good_bye(self, process_id: int) -> bool:
        try:
            self._client.key_value_try_get(_good_bye(process_id))
        except JaxRuntimeError as error:
            if "NOT_FOUND" in str(error):
                return False
            raise
        return True

    def _fail(self, processes: frozenset[int], problem: str, *, interrupts: bool = True) -> None:
        self.failure = ProcessFailureError.of_processes(
            self._devices_of(processes),
            processes,
            f"{problem}. The computations that this process shared with others are lost; save what "
            "is needed, exit, and start all processes again.",
        )
        # The C++ call paths do not check for failures, so each call must enter Python from now on.
        PjitFunctionCache.clear_all()
        # XLA ends processes that are still connected when the service disappears.
        try:
            self._client.shutdown()
        except JaxRuntimeError:
            pass  # the service has already ended
        if interrupts and self._signal is not None and self._main_thread is not None:
            signal.pthread_kill(self._main_thread, self._signal)
            self._raised.wait(_PATIENCE)
        # A wait in C++ may not check for signals. It ends with the computation.
        break_connections()

    def _raise_failure(self, number: int, frame: Any) -> NoReturn:
        assert self.failure is not None
        self._raised.set()
        raise self.failure


def _good_bye(process_id: int) -> str:
    return f"olympus/good_bye/{process_id}"


def _claim_signal(handler: Callable[[int, Any], Any]) -> int | None:
    """Installs a handler for an unused signal, and returns the signal's number.

    Returns None outside the main thread, where Python cannot install handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    if hasattr(signal, "SIGRTMIN"):
        # Programs and job schedulers use the named signals. These numbers are usually unused.
        candidates = list(range(signal.SIGRTMIN + 8, signal.SIGRTMAX))
    else:
        candidates = [signal.SIGUSR2, signal.SIGUSR1]
    for number in candidates:
        if signal.getsignal(number) in (signal.SIG_DFL, None):
            signal.signal(number, handler)
            return number
    raise RuntimeError(
        f"no signal is free to tell the main thread of a failure: {candidates} have handlers"
    )
