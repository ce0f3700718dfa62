# SPDX-License-Identifier: Apache-2.0
"""Asynchronous checkpoints, which are written while the program continues."""

from __future__ import annotations

import abc
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from olympus_xla.platforms import backends
from olympus_xla.processes.distributed import wait_at_barrier

from .specs import get_tensorstore_spec as spec_of_path
from .specs import is_remote_storage
from .stores import async_serialize, gather_all, run_deserialization, wait_for

__all__ = [
    "AsyncManager",
    "BarrierTimeoutError",
    "GlobalAsyncCheckpointManager",
    "GlobalAsyncCheckpointManagerBase",
    "get_tensorstore_spec",
    "is_remote_storage",
]

_barrier_numbers = itertools.count()


class BarrierTimeoutError(Exception):
    """Error raised when other processes do not finish writing in time."""


def get_tensorstore_spec(
    ckpt_path: Any,
    *,
    ocdbt: bool = False,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr",
) -> dict[str, Any]:
    """Returns the TensorStore spec of an array.

    Args:
      ckpt_path: the location of the array: an absolute path, or the address of an object in the
        cloud.
      ocdbt: whether to store the arrays of one folder in a single database, at the parent path.
      process_idx: the index of the process, if each process writes its own database.
      arr: the array, which determines the chunks.
      driver: ``"zarr"`` or ``"zarr3"``.

    Example:
      >>> get_tensorstore_spec("/tmp/a/b")
      {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': '/tmp/a/b'}}
    """
    return spec_of_path(ckpt_path, ocdbt, process_idx, arr, driver)


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """Base class of checkpoint managers, each of which writes one checkpoint at a time."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raises the exception of a failed write, if any, without waiting for unfinished writes."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Waits until the checkpoint is written."""

    @abc.abstractmethod
    def serialize(
        self, arrays: Any, tensorstore_specs: Any, *, on_commit_callback: Callable[[], None]
    ) -> None:
        """Writes arrays."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[dict[str, Any]],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> Any:
        """Reads arrays."""


class AsyncManager:
    """Manager that waits in a thread for the writes of this process and of the other processes.

    Args:
      timeout_secs: the time to wait for the other processes.
    """

    def __init__(self, timeout_secs: int = 300) -> None:
        self._timeout_secs = timeout_secs
        self._futures: list[Any] = []
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def _add_futures(self, futures: Sequence[Any]) -> None:
        self._futures = list(futures)

    def _start_async_commit(self, on_commit_callback: Callable[[], None] | None) -> None:
        number = next(_barrier_numbers)
        self._thread = threading.Thread(target=self._commit, args=(on_commit_callback, number))
        self._thread.start()

    def _commit(self, on_commit_callback: Callable[[], None] | None, number: int) -> None:
        try:
            for future in self._futures:
                future.result()
            self._wait_for_processes(f"olympus/checkpoint/{number}/written")
            if on_commit_callback is not None and backends.process_index() == 0:
                on_commit_callback()
            self._wait_for_processes(f"olympus/checkpoint/{number}/committed")
        except BaseException as error:  # `check_for_errors` raises the exception
            self._error = error

    def _wait_for_processes(self, name: str) -> None:
        if backends.process_count() == 1:
            return
        try:
            wait_at_barrier(name, self._timeout_secs)
        except Exception as error:
            raise BarrierTimeoutError(
                f"another process did not finish writing within {self._timeout_secs} seconds"
            ) from error

    def check_for_errors(self) -> None:
        """Raises the exception of a failed write, if any, without waiting for unfinished writes."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Waits until all processes have finished writing.

        Raises:
          BarrierTimeoutError: another process takes too long.
        """
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.check_for_errors()


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """Manager that writes arrays with TensorStore while the program continues, and reads them.

    Args:
      timeout_secs: the time to wait for other processes.

    Example:
      Needs the library tensorstore::

        manager = GlobalAsyncCheckpointManager()
        manager.serialize_with_paths([array], ["/tmp/checkpoint/array"])
        manager.wait_until_finished()
        [array] = manager.deserialize_with_paths([array.sharding], ["/tmp/checkpoint/array"])
    """

    def serialize(
        self,
        arrays: Any,
        tensorstore_specs: Any,
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """Starts to write arrays. The caller may change the arrays as soon as this method returns.

        Args:
          arrays: the arrays.
          tensorstore_specs: the TensorStore spec of each array.
          on_commit_callback: called by the first process when all processes have written all
            arrays.
          transaction: the transaction of the writes.
        """
        self.wait_until_finished()
        futures: list[Any] = []

        async def start() -> None:
            await gather_all(
                *(
                    async_serialize(array, spec, futures, transaction=transaction)
                    for array, spec in zip(arrays, tensorstore_specs, strict=True)
                )
            )

        wait_for(start())
        self._add_futures(futures)
        self._start_async_commit(on_commit_callback)

    def serialize_with_paths(
        self,
        arrays: Sequence[Any],
        paths: Sequence[str],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """Starts to write arrays to paths; see `serialize`."""
        specs = [get_tensorstore_spec(path) for path in paths]
        self.serialize(
            arrays, specs, on_commit_callback=on_commit_callback, transaction=transaction
        )

    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[dict[str, Any]],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Any]:
        """Reads arrays.

        Args:
          shardings: the sharding or the `Format` of each array.
          tensorstore_specs: the TensorStore spec of each array.
          global_shapes: the shape of each array, by default the stored shape.
          dtypes: the dtype of each array, by default the stored dtype.
          concurrent_gb: the largest number of gigabytes to read at the same time.
        """
        self.wait_until_finished()
        return run_deserialization(
            shardings, tensorstore_specs, global_shapes, dtypes, concurrent_gb
        )

    def deserialize_with_paths(
        self,
        shardings: Sequence[Any],
        paths: Sequence[str],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Any]:
        """Reads arrays from paths; see `deserialize`."""
        specs = [get_tensorstore_spec(path) for path in paths]
        return self.deserialize(shardings, specs, global_shapes, dtypes, concurrent_gb)
