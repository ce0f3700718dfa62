# SPDX-License-Identifier: Apache-2.0
"""Backends: one client for each platform, created when a computation first needs a device.

A `Platform` record holds the function that makes a platform's client. The CPU is built in. Plugins
for GPUs and TPUs, and plugins of third parties, register their records with `register_platform`.
The first use initializes all available platforms. The platform with the highest priority is the
default.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.settings import config_states
from olympus_ir.settings.config_flags import (
    cpu_collectives_implementation,
    cpu_enable_async_dispatch,
    cpu_get_global_topology_timeout_minutes,
    cpu_get_local_topology_timeout_minutes,
    cpu_retained_memory,
    debug_leaked_clients_on_clear_backends,
    num_cpu_devices,
    platform_name,
    platforms,
    sort_devices_by_process_index,
    xla_backend,
)
from olympus_ir.settings.naming import logger_name
from olympus_ir.types.arrays import Array
from olympus_sharding.meshes.mesh import set_default_devices

from .. import _jaxlib
from .._jax_refusal import refuse_jax
from .._jaxlib import Client, Device, SingleDeviceSharding
from .forks import warn_of_forks

if TYPE_CHECKING:
    import logging

    from ..processes.distributed import DistributedRuntime
    from . import collective_connections, retained_memory
else:
    # most processes do not need it
    retained_memory = deferred(".retained_memory", milliseconds=1.0)
    collective_connections = deferred(".collective_connections", milliseconds=3.0)
    logging = deferred("logging", milliseconds=7.0)

__all__ = [
    "Platform",
    "are_backends_initialized",
    "backends",
    "clear_backends",
    "default_backend",
    "default_device",
    "default_device_for",
    "default_sharding",
    "device_count",
    "device_sharding",
    "devices",
    "get_backend",
    "host_count",
    "host_id",
    "host_ids",
    "known_platforms",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "on_bring_up",
    "on_clear_backends",
    "platform",
    "process_count",
    "process_index",
    "process_indices",
    "register_backend_factory",
    "register_platform",
]


def _logger() -> Any:
    return logging.getLogger(logger_name("xla_bridge"))


# "gpu" stands for whichever of these platforms is available.
ALIASES = {"gpu": ("cuda", "rocm")}


class Platform:
    """Record with which a platform is initialized.

    Args:
      name: the name for ``devices(name)`` and ``OLYMPUS_PLATFORMS``, such as "cuda".
      make_client: makes the client, or raises an exception with the reason.
      is_installed: quickly returns whether the platform's plugin is installed.
      is_present: quickly returns whether the platform's hardware seems to be present. If so, the
        platform is tried even without a request by name.
      priority: the platform with the highest priority is the default.
      hint: returns advice for hardware that seems to be present without its plugin; called when
        the CPU is the default.
      is_required: whether a failure to make the client is an error even without a request by name.
      is_experimental: whether to warn users of the platform.
      make_topology: returns the description of a machine that may be absent; see `topologies`.
    """

    __slots__ = (
        "hint",
        "is_experimental",
        "is_installed",
        "is_present",
        "is_required",
        "make_client",
        "make_topology",
        "name",
        "priority",
    )

    def __init__(
        self,
        name: str,
        make_client: Callable[[], Client],
        is_installed: Callable[[], bool] = lambda: True,
        is_present: Callable[[], bool] = lambda: True,
        priority: int = 100,
        hint: Callable[[], str | None] = lambda: None,
        is_required: bool = False,
        is_experimental: bool = False,
        make_topology: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.make_client = make_client
        self.is_installed = is_installed
        self.is_present = is_present
        self.priority = priority
        self.hint = hint
        self.is_required = is_required
        self.is_experimental = is_experimental
        self.make_topology = make_topology


class _Backends:
    """The clients of the process, and the reasons for missing platforms."""

    __slots__ = ("clients", "default", "failures")

    def __init__(
        self, clients: dict[str, Client], default: Client, failures: dict[str, str]
    ) -> None:
        self.clients = clients
        self.default = default
        self.failures = failures


_platforms: dict[str, Platform] = {}
_lock = threading.RLock()
_current: _Backends | None = None
_clearing_hooks: list[Callable[[], None]] = []
_bring_up_hooks: list[Callable[[dict[str, Client]], None]] = []


def register_platform(platform: Platform) -> None:
    """Registers a platform.

    The platform's client is made when the backends are first used.

    Raises:
      RuntimeError: the backends have already been initialized.
    """
    if _current is not None:
        raise RuntimeError(
            f"The platform {platform.name!r} is registered too late: the backends are in use. "
            "Register platforms before the first computation."
        )
    _platforms[platform.name] = platform


def on_clear_backends(hook: Callable[[], None]) -> None:
    """Registers a hook, called by `clear_backends`, that drops references to the clients."""
    _clearing_hooks.append(hook)


def on_bring_up(hook: Callable[[dict[str, Client]], None]) -> None:
    """Registers a hook that receives a dictionary of clients by platform once they are made."""
    _bring_up_hooks.append(hook)


def known_platforms() -> list[str]:
    """Returns the names of all platforms, including unavailable platforms."""
    return list(_platforms)


def platform(name: str) -> Platform | None:
    """Returns the record of a platform; None if the platform is unknown."""
    return _platforms.get(name)


def register_backend_factory(
    name: str,
    factory: Callable[[], Client | None],
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Callable[..., Any] | None = None,
    c_api: Any = None,
) -> None:
    """Registers a platform by a function that makes its client, for example from a PJRT plugin.

    Args:
      name: the platform's name, as in ``devices(name)``.
      factory: makes the client, or returns None if the platform cannot be used.
      priority: the usable platform with the highest priority is the default.
      fail_quietly: whether to ignore a failure to make the client if the platform was not
        requested.
      experimental: whether to warn users of the platform.
      make_topology: called as ``make_topology(name, **options)``; returns the description of a
        machine that may be absent.
      c_api: the plugin's table of functions, which is kept alive.

    Raises:
      RuntimeError: the platform has already been initialized.
    """

    def make_client() -> Client:
        client = factory()
        if client is None:
            raise RuntimeError(f"backend {name!r} is not available on this machine")
        return client

    if _current is not None and name in _current.clients:
        raise RuntimeError(f"the backend {name!r} has been initialized already")
    platform = Platform(
        name,
        make_client,
        priority=priority,
        is_required=not fail_quietly,
        is_experimental=experimental,
        make_topology=make_topology,
    )
    _platforms[name] = platform
    if c_api is not None:
        _tables_of_plugins[name] = c_api


# The plugins' tables of functions, which must live as long as the process.
_tables_of_plugins: dict[str, Any] = {}


def are_backends_initialized() -> bool:
    """Returns whether clients have been made."""
    return _current is not None


# ---- initialization ----


def _bring_up() -> _Backends:
    global _current
    with _lock:
        if _current is None:
            refuse_jax()
            _current = _make_backends()
            warn_of_forks(are_backends_initialized)
            for hook in _bring_up_hooks:
                hook(_current.clients)
        return _current


def _make_backends() -> _Backends:
    requested = _platforms_asked_for()
    clients: dict[str, Client] = {}
    failures: dict[str, str] = {}
    for name in requested or sorted(_platforms, key=lambda name: -_platforms[name].priority):
        platform = _platforms.get(name)
        if platform is None:
            raise _cannot_initialize(
                name, f"it is not in the list of known backends: {sorted(_platforms)}."
            )
        if not requested and not (platform.is_installed() and platform.is_present()):
            continue
        try:
            clients[name] = platform.make_client()
        except Exception as error:
            failures[name] = str(error)
            # A list such as "cuda,cpu" falls back to the CPU if no CUDA plugin is installed.
            is_optional = len(requested) > 1 and not platform.is_installed()
            is_wanted = requested and not is_optional
            if is_wanted or name == "cpu" or platform.is_required:
                raise _cannot_initialize(name, failures[name]) from error
            _logger().info("Unable to initialize backend '%s': %s", name, error)
    if not clients:
        raise _cannot_initialize(*next(iter(failures.items())))
    for name in clients:
        if _platforms[name].is_experimental:
            _logger().warning(
                "Platform '%s' is experimental and not all OLYMPUS functionality may be correctly "
                "supported!",
                name,
            )
    default = next(iter(clients.values()))
    _jaxlib.prime(clients.get("cpu", default))
    if default.platform == "cpu" and (failures or not requested):
        _warn_of_fallback(failures)
    return _Backends(clients, default, failures)


def _cannot_initialize(name: str, reason: str) -> RuntimeError:
    return RuntimeError(
        f"Unable to initialize backend '{name}': {reason} (set OLYMPUS_PLATFORMS='' to "
        "automatically choose an available backend)"
    )


def _platforms_asked_for() -> list[str]:
    text = platforms.value or xla_backend.value or platform_name.value or ""
    names: list[str] = []
    for name in filter(None, map(str.strip, text.split(","))):
        members = [member for member in ALIASES.get(name, (name,)) if member in _platforms]
        names += members or [name]
    return names


def _warn_of_fallback(failures: dict[str, str]) -> None:
    """Warns once if an accelerator seems to be present but is not used."""
    hints = [f"the {name} backend failed: {reason}" for name, reason in failures.items()]
    for platform in _platforms.values():
        if platform.name not in failures and (hint := platform.hint()):
            hints.append(hint)
    if hints:
        _logger().warning("%s. Falling back to cpu.", "; ".join(hints))


def _make_cpu_client() -> Client:
    if cpu_retained_memory.value > 0:
        retained_memory.retain_memory(cpu_retained_memory.value)
    count = num_cpu_devices.value
    options: dict[str, Any] = {
        "asynchronous": cpu_enable_async_dispatch.value,
        # With None, XLA uses --xla_force_host_platform_device_count in XLA_FLAGS, or one device.
        "num_devices": None if count < 0 else count,
        "get_local_topology_timeout_minutes": cpu_get_local_topology_timeout_minutes.value,
        "get_global_topology_timeout_minutes": cpu_get_global_topology_timeout_minutes.value,
    }
    distributed = distributed_runtime
    if distributed is not None:
        options |= {
            "distributed_client": distributed.client,
            "node_id": distributed.process_id,
            "num_nodes": distributed.num_processes,
            "collectives": _cpu_collectives(distributed.client),
        }
    return _jaxlib.make_cpu_client(**options)


# `processes.distributed` sets this before the backends are initialized.
distributed_runtime: DistributedRuntime | None = None


def _cpu_collectives(client: Any) -> Any:
    implementation = cpu_collectives_implementation.value
    if implementation is None:
        return None
    if implementation != "gloo":
        raise ValueError(
            f"cpu_collectives_implementation is {implementation!r}; CPU processes of OLYMPUS "
            "communicate with 'gloo', or not at all (None)"
        )
    return collective_connections.noting_listener(lambda: _jaxlib.gloo_collectives(client))


register_platform(Platform("cpu", _make_cpu_client, priority=0))


def _check_not_in_use(flag: Any) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        if _current is not None and value != flag.value:
            raise RuntimeError(
                f"{flag.shown_name} config should be updated before backends are initialized i.e. "
                "before any OLYMPUS operation is executed. You should initialize this config "
                "immediately after `import olympus`."
            )

    return check


for _flag in (num_cpu_devices, cpu_enable_async_dispatch, cpu_retained_memory):
    _flag.add_validator(_check_not_in_use(_flag))


# ---- look-up of clients and devices ----


def backends() -> dict[str, Client]:
    """Returns the clients by platform, default first. The first call initializes the backends."""
    return dict((_current or _bring_up()).clients)


def get_backend(platform: str | Client | None = None) -> Client:
    """Returns the client of a platform, or of the default platform.

    Raises:
      RuntimeError: the platform is unknown or could not be initialized.
    """
    state = _current or _bring_up()
    if platform is None or platform == "":
        return state.default
    if isinstance(platform, Client):
        return platform
    if platform == state.default.platform:
        return state.default
    for name in ALIASES.get(platform, (platform,)):
        if name in state.clients:
            return state.clients[name]
    present = ", ".join(state.clients)
    if platform in state.failures:
        raise RuntimeError(
            f"Backend '{platform}' failed to initialize: {state.failures[platform]}. "
            f"Available backends are {list(state.clients)}"
        )
    if platform in ALIASES or platform in _platforms:
        raise RuntimeError(
            f"Unknown backend: '{platform}' requested, but no platforms that are instances of "
            f"{platform} are present. Platforms present are: {present}"
        )
    raise RuntimeError(f"Unknown backend {platform}. Available backends are {list(state.clients)}")


def devices(backend: str | Client | None = None) -> list[Device]:
    """Returns all devices of a backend, in all processes.

    Args:
      backend: the name of a platform, such as "cpu", "gpu" or "tpu"; None for the default.

    Raises:
      RuntimeError: the platform is unknown or could not be initialized.

    Example:
      >>> devices("cpu")[0]
      CpuDevice(id=0)
    """
    found = get_backend(backend).devices()
    if sort_devices_by_process_index.value:
        return sorted(found, key=lambda device: (device.process_index, device.id))
    return found


def local_devices(
    process_index: int | None = None,
    backend: str | Client | None = None,
    host_id: int | None = None,
) -> list[Device]:
    """Returns the devices of a backend that belong to one process.

    Args:
      process_index: the index of the process; None for this process.
      backend: the name of a platform; None for the default.
      host_id: an older name of ``process_index``.

    Raises:
      ValueError: there is no such process.

    Example:
      >>> local_devices(backend="cpu")[0].platform
      'cpu'
    """
    if host_id is not None:
        process_index = host_id
    client = get_backend(backend)
    if process_index is None:
        return client.local_devices()
    if not 0 <= process_index < process_count(client):
        raise ValueError(f"Unknown process_index {process_index}")
    return [device for device in client.devices() if device.process_index == process_index]


def device_count(backend: str | Client | None = None) -> int:
    """Returns the number of devices of a backend, in all processes.

    Example:
      >>> device_count("cpu") >= 1
      True
    """
    return get_backend(backend).device_count()


def local_device_count(backend: str | Client | None = None) -> int:
    """Returns the number of devices of a backend that belong to this process.

    Example:
      >>> local_device_count("cpu") == device_count("cpu")  # in a program of one process
      True
    """
    return get_backend(backend).local_device_count()


def default_backend() -> str:
    """Returns the platform of the default backend: "cpu", "gpu" or "tpu".

    Example:
      >>> default_backend() in ("cpu", "gpu", "tpu")
      True
    """
    return get_backend().platform


def process_index(backend: str | Client | None = None) -> int:
    """Returns the index of this process among the processes of the program.

    Example:
      >>> process_index()
      0
    """
    return get_backend(backend).process_index()


def process_count(backend: str | Client | None = None) -> int:
    """Returns the number of processes of the program.

    Example:
      >>> process_count()
      1
    """
    return max(device.process_index for device in devices(backend)) + 1


def process_indices(backend: str | Client | None = None) -> list[int]:
    """Returns the indices of the processes of the program.

    Example:
      >>> process_indices()
      [0]
    """
    return sorted({device.process_index for device in devices(backend)})


host_count = process_count
host_id = process_index
host_ids = process_indices


# ---- the default device ----

_default_device_state = config_states.default_device


def _check_platform(value: Any) -> None:
    names = {*_platforms, *ALIASES, *(name for names in ALIASES.values() for name in names)}
    if isinstance(value, str) and value not in names:
        raise ValueError(
            f"{_default_device_state.shown_name} must be passed either a Device object or a "
            f"platform name string, one of {sorted(names)}, got: {value!r}"
        )


_default_device_state.add_validator(_check_platform)
# The sharding of each device, made once because C++ compares identical objects quickly.
_device_shardings: dict[Device, SingleDeviceSharding] = {}


def device_sharding(device: Device) -> SingleDeviceSharding:
    """Returns the sharding of one device and its default memory; the same object on each call."""
    sharding = _device_shardings.get(device)
    if sharding is None:
        sharding = _device_shardings.setdefault(device, SingleDeviceSharding(device))
    return sharding


def default_device_for(backend: str | Client | None) -> Device:
    """Returns the default device of a backend; for None, of the default backend."""
    return default_device() if backend is None else get_backend(backend).local_devices()[0]


def default_device() -> Device:
    """Returns the default device of computations.

    This is the configured default device, or else the first device.
    """
    chosen = _default_device_state.value
    if chosen is None or isinstance(chosen, str):
        return get_backend(chosen).local_devices()[0]
    return chosen


_default_sharding: SingleDeviceSharding | None = None


def default_sharding() -> SingleDeviceSharding:
    """Returns the sharding that places an array on the default device."""
    global _default_sharding
    if _default_device_state.value is not None:
        return device_sharding(default_device())
    if _default_sharding is None:
        _default_sharding = device_sharding(default_device())
    return _default_sharding


set_default_devices(devices)


# ---- live arrays and clients ----


def live_arrays(platform: str | None = None) -> list[Array]:
    """Returns all live arrays of a backend, from the list that C++ keeps.

    Example:
      >>> import olympus
      >>> x = olympus.numpy.ones((3, 5, 7))
      >>> (3, 5, 7) in [array.shape for array in olympus.live_arrays()]
      True
    """
    return get_backend(platform).live_arrays()


def clear_backends() -> None:
    """Drops all clients, compiled functions and their caches.

    Live arrays keep their client alive. New computations use new clients.
    """
    global _current, _default_sharding
    with _lock:
        clients = _client_references() if debug_leaked_clients_on_clear_backends.value else []
        for hook in _clearing_hooks:
            hook()
        _jaxlib.PjitFunctionCache.clear_all()
        _device_shardings.clear()
        _default_sharding = None
        _current = None
        if clients:
            _check_clients_are_gone(clients)


def _client_references() -> list[weakref.ref]:
    """Returns weak references to the clients in use."""
    return [] if _current is None else [weakref.ref(client) for client in _current.clients.values()]


def _check_clients_are_gone(clients: Sequence[weakref.ref]) -> None:
    """Raises RuntimeError if something keeps a cleared client alive."""
    gc.collect()
    alive = [client.platform for reference in clients if (client := reference()) is not None]
    if alive:
        raise RuntimeError(
            f"Clients of {', '.join(alive)} are still in use after clear_backends(): arrays, "
            "compiled functions or devices are referenced. The flag "
            "olympus_debug_leaked_clients_on_clear_backends asks for this error."
        )
