# SPDX-License-Identifier: Apache-2.0
"""Loaded executables and their calls from Python.

A call places the operands, runs the executable, and sets the types of the results. If C++ can make
a call by itself, repeated calls use `cpp_functions` instead.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir._jaxlib import call_registry
from olympus_ir.diagnostics import reports
from olympus_ir.lax.tokens import Token
from olympus_ir.settings.config_states import no_execution
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray, abstract_token
from olympus_ir.types.dtypes import float0
from olympus_ir.types.extended_arrays import array_of_type, plain_array, plain_aval

from .._jaxlib import ArrayImpl, JaxRuntimeError, array_result_handler, collectives_need_bound
from ..arrays.array import check_not_deleted
from ..arrays.layouts import layouts_in_use
from ..arrays.transfer import put_leaf
from ..foreign.callback_errors import DeferredErrors, check_can_start, raise_callback_error
from ..platforms import backends
from . import effect_tokens
from .cpp_functions import Fastpath
from .operand_layouts import as_executable_expects

__all__ = ["Executable"]

# Before jaxlib 0.12, dozens of multi-device CPU programs in flight may end the process, so only
# this many are allowed. This is enough to keep the devices busy.
_MOST_IN_FLIGHT = 4
_in_flight: collections.deque[Any] = collections.deque()
_launch_lock = threading.Lock()


def _has_collectives(loaded: Any) -> bool:
    """Returns whether an executable runs collectives on CPUs."""
    if loaded.local_devices()[0].platform != "cpu":
        return False
    text = "".join(module.to_string() for module in loaded.hlo_modules())
    return any(name in text for name in _COLLECTIVES)


_COLLECTIVES = (
    "all-reduce",
    "all-gather",
    "all-to-all",
    "collective-permute",
    "reduce-scatter",
    "collective-broadcast",
)


# Arrays of dtype float0, the tangents of integers, have no contents. In an executable, arrays of
# bools stand for them, and an empty array stands for a token.


def _is_trivial(aval: Any) -> bool:
    return aval is abstract_token or aval.dtype == float0


def _carrier(aval: Any) -> Any:
    """Returns the type of the array that stands for a result in an executable."""
    if aval is abstract_token:
        return effect_tokens.carrier
    if _is_trivial(aval):
        return ShapedArray(aval.shape, np.dtype(np.bool_))
    return plain_aval(aval)


def _put_operand(operand: Any, sharding: Any) -> Any:
    if type(operand) is Token:
        operand = operand._buf
    operand = plain_array(operand)
    if type(operand) is not ArrayImpl and getattr(operand, "dtype", None) == float0:
        operand = np.zeros(operand.shape, np.bool_)
    return put_leaf(operand, sharding)


def _check_alive(operands: Sequence[Any]) -> None:
    """Raises RuntimeError for deleted operands, which would crash a call on several devices."""
    for operand in operands:
        if operand.__class__ is ArrayImpl and operand.is_deleted():
            check_not_deleted(operand)


def _delete_consumed(operands: Sequence[Any], arrays: Sequence[Any]) -> None:
    """Deletes operands whose copies on the program's devices were donated to it."""
    for operand, array in zip(operands, arrays, strict=True):
        if array is not operand and type(operand) is ArrayImpl and array.is_deleted():
            operand.delete()


def _explain_lack_of_memory(error: JaxRuntimeError, loaded: Any) -> None:
    """Adds a report on an executable's memory to an out-of-memory error."""
    if "RESOURCE_EXHAUSTED" in str(error):
        explain = reports.report_named("out_of_memory")
        note = None if explain is None else explain(loaded)
        if note is not None:
            error.add_note(note)


def _result_of_type(array: Any, aval: Any) -> Any:
    if aval is abstract_token:
        return Token(array)
    return np.zeros(aval.shape, float0) if _is_trivial(aval) else array_of_type(array, aval)


def _tree_of_plain_arrays(out_tree: Any, avals: Sequence[Any]) -> Any:
    """Returns the tree structure with which C++ builds a result from the executable's arrays.

    An array of an extended dtype is a node of this structure; its leaf is the physical array.
    """
    result = pytrees.tree_unflatten(out_tree, [array_of_type(object(), aval) for aval in avals])
    return call_registry.flatten(result)[1]


class Executable:
    """A loaded executable, with the types and shardings of its operands and results."""

    __slots__ = (
        "callback_errors",
        "calls_python",
        "committed",
        "extended_results",
        "handlers",
        "in_avals",
        "in_shardings",
        "keep_alive",
        "loaded",
        "needs_bound",
        "num_devices",
        "ordered_effects",
        "out_avals",
        "out_shardings",
        "serialized",
        "several_devices",
        "spans_processes",
    )

    def __init__(
        self,
        loaded: Any,
        *,
        in_avals: Sequence[Any],
        in_shardings: Sequence[Any],
        out_avals: Sequence[Any],
        out_shardings: Sequence[Any],
        committed: bool,
        ordered_effects: Sequence[Any] = (),
        calls_python: bool = False,
        callback_errors: DeferredErrors | None = None,
        keep_alive: Sequence[Any] = (),
        spans_processes: bool = False,
        serialized: bytes | None = None,
    ) -> None:
        self.loaded = loaded
        self.serialized = serialized  # the bytes of an executable that was loaded from disk
        self.spans_processes = spans_processes
        self.calls_python = calls_python
        self.callback_errors = callback_errors
        self.in_avals = in_avals
        self.in_shardings = in_shardings
        self.out_avals = out_avals
        self.out_shardings = out_shardings
        self.committed = committed
        self.ordered_effects = tuple(ordered_effects)
        self.keep_alive = keep_alive
        self.num_devices = len(loaded.local_devices())
        self.several_devices = self.num_devices > 1
        self.needs_bound = (
            self.several_devices and collectives_need_bound and _has_collectives(loaded)
        )
        self.extended_results = any(_carrier(aval) is not aval for aval in out_avals)
        self.handlers = [
            array_result_handler(_carrier(aval), sharding, committed)
            for aval, sharding in zip(out_avals, out_shardings, strict=True)
        ]

    def call(self, operands: Sequence[Any]) -> list[Any]:
        """Places the operands, and runs the executable."""
        if no_execution.value:
            raise RuntimeError(
                f"{naming.library} tried to execute the function "
                f"{self.loaded.hlo_modules()[0].name}, but the no_execution config option is set"
            )
        if self.spans_processes and backends.distributed_runtime is not None:
            backends.distributed_runtime.check_no_failure()
        if self.several_devices:
            check_can_start()
            _check_alive(operands)
        if not self.num_devices:
            self.loaded.execute_sharded()  # this raises the error for compile-only devices
        arrays = [
            operand
            if type(operand) is ArrayImpl and operand._sharding is sharding
            else _put_operand(operand, sharding)
            for operand, sharding in zip(operands, self.in_shardings, strict=True)
        ]
        if layouts_in_use.in_use:
            arrays = as_executable_expects(self.loaded, arrays, len(self.ordered_effects))
        try:
            if self.callback_errors is None:
                results, _ = self._launched(arrays)
            else:
                with self.callback_errors.raised_at_end():
                    results, token = self._launched(arrays)
                    token.block_until_ready()
        except JaxRuntimeError as error:
            raise_callback_error(error)
            for operand in operands:
                if type(operand) is ArrayImpl:
                    check_not_deleted(operand)
            _explain_lack_of_memory(error, self.loaded)
            raise
        _delete_consumed(operands, arrays)
        if self.extended_results:
            return list(map(_result_of_type, results, self.out_avals))
        return results

    def _launched(self, arrays: list[Any]) -> tuple[list[Any], Any]:
        """Starts the executable.

        Returns:
          The results, and a token that is ready at the end of a program that calls Python.
        """
        if self.ordered_effects:
            return self._launched_in_order(arrays)
        if self.needs_bound:
            return self._launched_bounded(arrays)
        if not self.calls_python:
            started = self.loaded.execute_sharded(arrays)
            return started.consume_with_handlers(self.handlers), None
        started = self.loaded.execute_sharded(arrays, with_tokens=True)
        token = started.consume_token()
        effect_tokens.watch(token)
        return started.consume_with_handlers(self.handlers), token

    def _launched_in_order(self, arrays: list[Any]) -> tuple[list[Any], Any]:
        """Starts the executable with the last call's tokens, and stores the returned tokens."""
        effects, devices = self.ordered_effects, tuple(self.loaded.local_devices())
        with effect_tokens.lock:
            tokens = effect_tokens.take(effects, devices)
            handlers = [*effect_tokens.handlers(effects, devices), *self.handlers]
            results = self.loaded.execute_sharded([*tokens, *arrays]).consume_with_handlers(
                handlers
            )
            effect_tokens.give(effects, results[: len(effects)])
        return results[len(effects) :], results[0]

    def _launched_bounded(self, arrays: list[Any]) -> tuple[list[Any], Any]:
        with _launch_lock:
            while len(_in_flight) >= _MOST_IN_FLIGHT:
                _in_flight.popleft().block_until_ready()
            results = self.loaded.execute_sharded(arrays, with_tokens=True)
            token = results.consume_token()
            _in_flight.append(token)
            if self.calls_python:
                effect_tokens.watch(token)
            return results.consume_with_handlers(self.handlers), token

    def fastpath(
        self, out_tree: Any, kept: Sequence[bool], constants: Sequence[Any]
    ) -> Fastpath | None:
        """Returns the `Fastpath` for calls by C++; None if each call must enter Python."""
        if (
            self.ordered_effects
            or any(map(_is_trivial, self.in_avals))  # C++ does not support float0
            or any(map(_is_trivial, self.out_avals))
            or self.calls_python  # `call` raises the exceptions of Python functions
            or self.needs_bound
        ):
            return None
        count = len(constants)
        return Fastpath(
            self.loaded,
            _tree_of_plain_arrays(out_tree, self.out_avals) if self.extended_results else out_tree,
            list(self.in_shardings),
            list(self.out_shardings),
            list(map(plain_aval, self.out_avals)),
            [self.committed] * len(self.out_avals),
            [True] * count + list(kept),
            [None] * len(self.in_shardings),
            list(constants),
        )
