# SPDX-License-Identifier: Apache-2.0
"""Public interface of configuration: the `config` object and the context managers.

``config.update("olympus_enable_x64", True)`` changes a flag for the process. ``with
enable_x64(True):`` changes it for a block of the current thread. The environment variable
``OLYMPUS_ENABLE_X64=1`` sets it before the program starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from .._jaxlib import config_trace_context as trace_context
from . import config_cache_flags, config_flags, config_states, log_settings
from .config_states import (
    abstract_mesh,
    allow_f16_reductions,
    array_garbage_collection_guard,
    auto_pcast,
    axis_environment,
    check_tracer_leaks,
    check_vma,
    concrete_mesh,
    current_scope,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    jax2tf_associative_scan_reductions,
    legacy_prng_key,
    log_compiles,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    post_hook,
    remove_size_one_mesh_axis_from_type,
    scope,
    softmax_custom_jvp,
    strong_zeros,
    thread_guard,
    threefry_partitionable,
    tracing_state,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from .configuration import Configuration, Override, config, declare_flag

__all__ = [
    "Configuration",
    "abstract_mesh",
    "allow_f16_reductions",
    "array_garbage_collection_guard",
    "auto_pcast",
    "axis_environment",
    "check_tracer_leaks",
    "check_vma",
    "checking_leaks",
    "concrete_mesh",
    "config",
    "config_cache_flags",
    "config_flags",
    "config_states",
    "current_scope",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "explain_cache_misses",
    "jax2tf_associative_scan_reductions",
    "legacy_prng_key",
    "log_compiles",
    "log_settings",
    "no_execution",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "post_hook",
    "remove_size_one_mesh_axis_from_type",
    "scope",
    "softmax_custom_jvp",
    "strong_zeros",
    "thread_guard",
    "threefry_partitionable",
    "trace_context",
    "tracing_state",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
]

_TRANSFER_GUARDS = (
    transfer_guard_host_to_device,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
)


def _guard_all_transfers(level: Any) -> None:
    for guard in _TRANSFER_GUARDS:
        guard.update(level)


_of_directions = [guard.get_global() for guard in _TRANSFER_GUARDS]
_of_all = declare_flag(
    "transfer_guard",
    None,
    config_states.GUARD_LEVELS,
    "Sets the three flags transfer_guard_<from>_to_<to> at once.",
)
_of_all.add_global_hook(_guard_all_transfers)
# The flag's hook has just set all directions. If the environment sets no common level, restore the
# levels that it sets for single directions.
if _of_all.get_global() is None:
    for _guard, _level in zip(_TRANSFER_GUARDS, _of_directions, strict=True):
        _guard.update(_level)


def transfer_guard(new_val: str | None) -> AbstractContextManager[None]:
    """Returns a context manager that sets the level of the transfer guards of all directions.

    Args:
        new_val: ``"allow"``, ``"log"``, ``"disallow"``, ``"log_explicit"`` or
            ``"disallow_explicit"``. ``"log"`` and ``"disallow"`` do not apply to explicit
            transfers, such as ``device_put``.

    Example:
        >>> with transfer_guard("log"):
        ...     config.olympus_transfer_guard_host_to_device
        'log'
    """

    return _overriding([guard(new_val) for guard in _TRANSFER_GUARDS])


@contextmanager
def _overriding(overrides: list[Override]) -> Iterator[None]:
    with ExitStack() as stack:
        for override in overrides:
            stack.enter_context(override)
        yield


def disable_jit(disable: bool = True) -> Override:
    """Returns a context manager in which compiled functions run operation by operation.

    In the context, ``jit`` does nothing, and loops of the instruction set run as Python loops, so
    ``print`` and debuggers see values.

    Args:
        disable: whether to disable compilation; False enables it again in an outer block.

    Example:
        >>> with disable_jit():
        ...     config.olympus_disable_jit
        True
    """
    return config_states.disable_jit(disable)


def checking_leaks() -> Override:
    """Returns a context manager that raises an error if traced values outlive their trace.

    Example:
        >>> with checking_leaks():
        ...     config.olympus_check_tracer_leaks
        True
    """
    return check_tracer_leaks(True)
