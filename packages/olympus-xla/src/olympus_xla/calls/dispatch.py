# SPDX-License-Identifier: Apache-2.0
"""Calling executables: jaxlib's C++ call path, and the Python path where that does not do.

`make_cpp_function` makes a function object whose repeated calls never enter Python: arguments are
flattened and looked up in C++, and the executable is run there. What it finds is what a cache miss
returned before: a `Fastpath`.
"""

from __future__ import annotations

import collections
import threading
from collections import namedtuple
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from olympus_ir._jaxlib import pytree_registry
from olympus_ir.diagnostics import phases
from olympus_ir.lax.tokens import Token
from olympus_ir.settings import config_flags
from olympus_ir.settings.config_cache_flags import compilation_cache_dir
from olympus_ir.settings.config_states import no_execution
from olympus_ir.settings.naming import naming
from olympus_ir.types.avals import ShapedArray, abstract_token
from olympus_ir.types.dtypes import float0
from olympus_ir.types.extended_arrays import array_of_type, plain_array, plain_aval

from .._jaxlib import (
    ArrayImpl,
    CompileOptions,
    DeviceAssignment,
    DeviceList,
    JaxRuntimeError,
    PjitFunctionCache,
    array_result_handler,
    collectives_need_bound,
    is_description,
    pjit_function,
    set_effort,
)
from ..arrays.array import check_not_deleted
from ..arrays.layouts import layouts_in_use
from ..arrays.transfer import put_leaf
from ..compiling.compile_errors import raise_clear_error
from ..foreign.callback_errors import raise_callback_error
from ..platforms import backends
from . import effect_tokens


# Not a `NamedTuple`, which takes twice as long to make whenever this module is imported.
class Fastpath(
    namedtuple(
        "Fastpath",
        "xla_executable out_pytree_def in_shardings out_shardings out_avals out_committed "
        "kept_var_bitvec in_device_local_layouts const_args",
    )
):
    """What the C++ call path needs in order to run an executable by itself.

    Attributes:
      xla_executable: the loaded executable.
      out_pytree_def: the structure of the result.
      in_shardings: one a kept operand.
      out_shardings: one a result.
      out_avals: one a result.
      out_committed: one a result.
      kept_var_bitvec: for each operand, constants first: is it passed to the executable?
      in_device_local_layouts: one a kept operand; None for the default.
      const_args: arrays passed before the operands.
    """

    __slots__ = ()


_CACHE_CAPACITY = 8192
# Shared by all function objects: entries are found by the Python function and the key, so that
# jitting one function twice compiles it once.
_shared_cache = PjitFunctionCache(_CACHE_CAPACITY)


def clear_call_caches() -> None:
    """Forgets what the C++ call paths remember of functions that are shared."""
    _shared_cache.clear()


def _put_argument(argument: Any, sharding: Any, layout: Any) -> Any:
    """What C++ asks for an operand that it cannot place by itself."""
    return put_leaf(argument, sharding)


def make_cpp_function(
    name: str,
    fun: Callable[..., Any],
    cache_miss: Callable[..., Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    key: Hashable = "call",
    shared: bool = True,
) -> Any:
    """A function object of jaxlib that runs compiled calls without entering Python.

    Args:
      name: the function's name.
      fun: the function called in place of everything else while ``disable_jit`` is set.
      cache_miss: called with the arguments where no executable is known; returns the result, a
        `Fastpath` or None (ask again next time), and whether to drop the entry.
      static_argnums: positions of arguments that are compared by value.
      static_argnames: names of keyword arguments that are compared by value.
      key: what, besides ``fun``, identifies the function in the shared cache.
      shared: whether to share entries with other objects of the same ``fun`` and ``key``.
    """
    return pjit_function(
        name,
        fun,
        cache_miss,
        list(static_argnums),
        list(static_argnames),
        key,
        pytree_registry,
        _put_argument,
        _shared_cache if shared else None,
    )


def compile_options(
    device_ids: Sequence[int] | None,
    *,
    partitions: int = 1,
    replicas: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """XLA's compile options for a computation on the given devices.

    Args:
      device_ids: the devices' numbers; None leaves them open.
      partitions: over how many devices the computation is divided.
      replicas: how many times it runs on different data; as often as there are devices for.
      options: XLA's options by name.

    Raises:
      TypeError: where a compiler option has a value that XLA does not take.
    """
    result = CompileOptions()
    build = result.executable_build_options
    if replicas is None:
        replicas = 1 if device_ids is None else len(device_ids) // partitions
    result.num_replicas = build.num_replicas = replicas
    result.num_partitions = build.num_partitions = partitions
    build.use_spmd_partitioning = partitions > 1
    build.use_shardy_partitioner = True
    if device_ids is not None:
        result.device_assignment = DeviceAssignment.create(
            np.asarray(device_ids, np.int32).reshape(replicas, partitions)
        )
    _set_efforts(build)
    if options:
        overrides = [(name, _option_value(name, value)) for name, value in options.items()]
        result.env_option_overrides = overrides
    return result


# XLA's numbers for levels of effort.
_LEVELS = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}


def _set_efforts(build: Any) -> None:
    """Says how hard the compiler shall work, as the flags do."""
    build.optimization_level = _LEVELS[config_flags.optimization_level.value]
    build.memory_fitting_level = _LEVELS[config_flags.memory_fitting_level.value]
    for flag in (config_flags.exec_time_optimization_effort, config_flags.memory_fitting_effort):
        set_effort(build, flag.name.removeprefix("olympus_"), flag.value)
    if not config_flags.compiler_enable_remat_pass.value:
        build.debug_options.xla_disable_hlo_passes = "rematerialization"
    if config_flags.disable_most_optimizations.value:
        build.debug_options.xla_backend_optimization_level = 0
        build.debug_options.xla_llvm_disable_expensive_passes = True


def _option_value(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise TypeError(
            f"compiler option {name!r} must be a bool, an int, a float or a str, got {value!r}"
        )
    return value


def compile_module(
    module: Any,
    devices: Sequence[Any],
    *,
    name: str = "<unnamed>",
    partitions: int = 1,
    compiler_options: dict[str, Any] | None = None,
    host_callbacks: Sequence[Callable[..., Any]] = (),
) -> Any:
    """Compiles a StableHLO module (or its bytecode) for the given devices and loads it.

    Args:
      module: the module.
      devices: the devices.
      name: the computation's, as listeners and the log are told it.
      partitions: over how many devices the computation is partitioned.
      compiler_options: XLA's options by name.
      host_callbacks: the functions that the computation calls.
    """
    options = compile_options(
        [device.id for device in devices], partitions=partitions, options=compiler_options
    )

    def compile_only(executable: Any) -> Any:
        from ..platforms.topologies import CompileOnlyExecutable  # few programs compile for these

        return CompileOnlyExecutable(executable)

    def compile_with(options: Any) -> Any:
        from ..compiling.lowering import isolation  # compiles when first needed

        client, order = devices[0].client, DeviceList(tuple(devices))
        try:
            with isolation.isolated(module) as program:
                if is_description(devices[0]):
                    return compile_only(client.compile(program, order, options))
                callbacks = [list(host_callbacks)] if host_callbacks else []
                return client.compile_and_load(program, order, options, *callbacks)
        except JaxRuntimeError as error:
            raise_clear_error(error, devices[0].platform)
            raise

    if compilation_cache_dir.value and not host_callbacks and not is_description(devices[0]):
        from ..compiling import compilation_cache  # only where a cache is wanted

        cache = compilation_cache.cache_in_use()
        if cache is not None:
            with phases.compiling(name):
                return compilation_cache.load_or_compile(
                    cache, module, devices, options, compile_with
                )
    with phases.compiling(name):
        return compile_with(options)


# Some tens of multi-device CPU programs in flight end the process on jaxlib 0.10; a few are enough
# to keep the devices busy.
_MOST_IN_FLIGHT = 4
_in_flight: collections.deque[Any] = collections.deque()
_launch_lock = threading.Lock()


def _has_collectives(loaded: Any) -> bool:
    """Whether the devices of an executable wait for one another on the CPU."""
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


# Arrays of dtype float0, the tangents of integers, have no contents. A program has arrays of bools
# in their place. A token crosses the boundary of a computation as an empty array.


def _is_trivial(aval: Any) -> bool:
    return aval is abstract_token or aval.dtype == float0


def _carrier(aval: Any) -> Any:
    """The type of the array that comes out of an executable for a result of a type."""
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


def _result_of_type(array: Any, aval: Any) -> Any:
    if aval is abstract_token:
        return Token(array)
    return np.zeros(aval.shape, float0) if _is_trivial(aval) else array_of_type(array, aval)


class Executable:
    """A loaded executable with the types and places of its operands and results."""

    __slots__ = (
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
        keep_alive: Sequence[Any] = (),
        spans_processes: bool = False,
    ) -> None:
        self.loaded = loaded
        self.spans_processes = spans_processes
        self.calls_python = calls_python
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
        """Runs the executable on the operands that it takes; puts them in place first."""
        if no_execution.value:
            raise RuntimeError(
                f"{naming.library} tried to execute the function "
                f"{self.loaded.hlo_modules()[0].name}, but the no_execution config option is set"
            )
        if self.spans_processes and backends.distributed_runtime is not None:
            backends.distributed_runtime.check_no_failure()
        if not self.num_devices:
            self.loaded.execute_sharded()  # says that there are no devices to run on
        arrays = [
            operand
            if type(operand) is ArrayImpl and operand._sharding is sharding
            else _put_operand(operand, sharding)
            for operand, sharding in zip(operands, self.in_shardings, strict=True)
        ]
        if layouts_in_use.in_use:
            from ..arrays.relayout import (
                as_executable_wants,  # only where there are layouts to look at
            )

            arrays = as_executable_wants(self.loaded, arrays, len(self.ordered_effects))
        try:
            if self.ordered_effects:
                results = self._call_in_order(arrays)
            elif self.needs_bound:
                results = self._call_bounded(arrays)
            elif self.calls_python:
                results = self.loaded.execute_sharded(arrays, with_tokens=True)
                effect_tokens.watch(results.consume_token())
                results = results.consume_with_handlers(self.handlers)
            else:
                results = self.loaded.execute_sharded(arrays).consume_with_handlers(self.handlers)
        except JaxRuntimeError as error:
            raise_callback_error(error)
            for operand in operands:
                if type(operand) is ArrayImpl:
                    check_not_deleted(operand)
            raise
        if self.extended_results:
            return list(map(_result_of_type, results, self.out_avals))
        return results

    def _call_in_order(self, arrays: list[Any]) -> list[Any]:
        """Passes the tokens of ordered effects from the last call to this one and on."""
        effects, devices = self.ordered_effects, tuple(self.loaded.local_devices())
        with effect_tokens.lock:
            tokens = effect_tokens.take(effects, devices)
            handlers = [*effect_tokens.handlers(effects, devices), *self.handlers]
            results = self.loaded.execute_sharded([*tokens, *arrays]).consume_with_handlers(
                handlers
            )
            effect_tokens.give(effects, results[: len(effects)])
        return results[len(effects) :]

    def _call_bounded(self, arrays: list[Any]) -> list[Any]:
        with _launch_lock:
            while len(_in_flight) >= _MOST_IN_FLIGHT:
                _in_flight.popleft().block_until_ready()
            results = self.loaded.execute_sharded(arrays, with_tokens=True)
            token = results.consume_token()
            _in_flight.append(token)
            if self.calls_python:
                effect_tokens.watch(token)
            return results.consume_with_handlers(self.handlers)

    def fastpath(
        self, out_tree: Any, kept: Sequence[bool], constants: Sequence[Any]
    ) -> Fastpath | None:
        """What C++ needs to run this executable by itself; None where Python must be asked."""
        if (
            self.ordered_effects
            or self.extended_results  # C++ would give the plain arrays
            or any(map(_is_trivial, self.in_avals))  # C++ does not know their dtype
            or self.calls_python  # their exceptions are raised by `call`
            or self.needs_bound
        ):
            return None
        count = len(constants)
        return Fastpath(
            self.loaded,
            out_tree,
            list(self.in_shardings),
            list(self.out_shardings),
            list(self.out_avals),
            [self.committed] * len(self.out_avals),
            [True] * count + list(kept),
            [None] * len(self.in_shardings),
            list(constants),
        )
