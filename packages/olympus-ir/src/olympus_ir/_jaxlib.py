# SPDX-License-Identifier: Apache-2.0
"""Imports everything that olympus-ir uses of jaxlib: C++ data structures, but no compiler.

No other module of this package imports jaxlib, and this module creates no client. It imports
everything from jaxlib's extension modules directly. It does not import ``jaxlib.xla_client``: that
import takes a tenth of a second, and programs that only trace do not need it.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, TypeAlias

from jaxlib import _jax  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib import weakref_lru_cache as _caches  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib.utils import foreach, safe_map, safe_zip, topological_sort
from jaxlib.version import __version_info__ as jaxlib_version

__all__ = [
    "Array",
    "ArrayCopySemantics",
    "Config",
    "Device",
    "DeviceList",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "JaxRuntimeError",
    "NamedSharding",
    "PyTreeDef",
    "PyTreeRegistry",
    "SequenceKey",
    "Sharding",
    "SingleDeviceSharding",
    "Traceback",
    "TracebackScope",
    "add_exclude_path",
    "all_leaves",
    "call_registry",
    "canonicalize_partition",
    "canonicalize_partitions",
    "check_named_shardings_with",
    "config_trace_context",
    "config_trace_context_names",
    "config_unset",
    "count_as_subclasses",
    "foreach",
    "jaxlib_version",
    "none_leaf_registry",
    "pytree_registry",
    "safe_map",
    "safe_zip",
    "set_pspec_unconstrained",
    "set_tracebacks_enabled",
    "set_tracer_class",
    "topological_sort",
    "tracebacks_enabled",
    "treedef_tuple",
    "weak_value_interner",
    "weakref_lru_cache",
]

SUPPORTED_VERSIONS = ((0, 10, 2), (0, 13))

if not SUPPORTED_VERSIONS[0] <= jaxlib_version < SUPPORTED_VERSIONS[1]:
    raise ImportError(
        f"olympus_ir needs jaxlib >= 0.10.2, < 0.13, found {'.'.join(map(str, jaxlib_version))}. "
        'Install a supported one: python -m pip install "jaxlib>=0.10.2,<0.13"'
    )

# The abstract base of arrays and tracers. A value of the registered tracer class is an instance of
# `Array` if its method `_is_traced_array` returns True.
Array: TypeAlias = _jax.Array
set_tracer_class = _jax.set_tracer_class


def count_as_subclasses(base: type) -> None:
    """Makes ``issubclass(kind, Array)`` true for a class and the classes derived from it.

    A class that is derived from `Array` itself would have the memory of one of jaxlib's arrays,
    without its contents.

    Args:
      base: the class.
    """

    def is_subclass(cls: type, kind: type) -> bool:
        ancestor = type.__subclasscheck__
        return ancestor(cls, kind) or (cls is Array and ancestor(base, kind))

    setattr(type(Array), "__subclasscheck__", is_subclass)  # noqa: B010 - of no known type


JaxRuntimeError: TypeAlias = _jax.JaxRuntimeError

# Python call stacks, stored as C++ objects.
Traceback: TypeAlias = _jax.Traceback
# Within a `TracebackScope`, tracebacks begin at the frame that entered the scope.
TracebackScope = _jax.TracebackScope
add_exclude_path = _jax.add_exclude_path
tracebacks_enabled = _jax.tracebacks_enabled
set_tracebacks_enabled = _jax.set_tracebacks_enabled

# Thread-local configuration state, which the C++ caches read.
Config: TypeAlias = _jax.config.Config
config_trace_context = _jax.config.trace_context
config_trace_context_names = _jax.config.trace_context_names
config_unset = _jax.config.unset

# `weakref_lru_cache` caches the results of a function and refers weakly to the first argument.
# `weak_value_interner` refers weakly to the objects that it interns.
weakref_lru_cache = _caches.weakref_lru_cache
weak_value_interner = _caches.weak_value_interner

# Partition specs. `canonicalize_partition` returns the normal form of one entry, and
# `canonicalize_partitions` returns the normal form of all entries. `set_pspec_unconstrained` sets
# the object that stands for an unconstrained dimension.
canonicalize_partition = _jax.canonicalize_partition
canonicalize_partitions = _jax.canonicalize_partitions
set_pspec_unconstrained = _jax.set_pspec_unconstrained

# Shardings are C++ types, because the compiled call paths require exactly these types. Here they
# hold plain data and use devices only through the devices' methods. olympus-sharding attaches their
# behavior.
Sharding: TypeAlias = _jax.Sharding
SingleDeviceSharding: TypeAlias = _jax.SingleDeviceSharding
NamedSharding: TypeAlias = _jax.NamedSharding
Device: TypeAlias = _jax.Device
DeviceList: TypeAlias = _jax.DeviceList
# The copy semantics of a transfer: whether the result may share the memory of its source.
ArrayCopySemantics: TypeAlias = _jax.ArrayCopySemantics


_named_sharding_checks: list[Callable[[Any, Any], None]] = []


def check_named_shardings_with(check: Callable[[Any, Any], None]) -> None:
    """Registers ``check(mesh, spec)``, which is called for each new `NamedSharding`."""
    _named_sharding_checks.append(check)


def _check_named_sharding(mesh: Any, spec: Any) -> None:
    try:
        for check in _named_sharding_checks:
            check(mesh, spec)
    except Exception as error:  # omit this frame, so that users see the call of the constructor
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        raise


def _give_named_shardings_their_check() -> None:
    """Passes `_check_named_sharding` to the C++ constructor of `NamedSharding`.

    The constructor imports its check once, from the module ``jax._src.named_sharding``. A stand-in
    for this module exists only while the first `NamedSharding` is made here.
    """

    class NoMesh:
        size = 1
        _internal_device_list = None

    package, name = "jax", "jax._src.named_sharding"
    module = types.ModuleType(name)
    module.check_pspec = _check_named_sharding  # type: ignore[attr-defined]
    saved = {key: sys.modules.get(key) for key in (package, name)}
    sys.modules.update({package: types.ModuleType(package), name: module})
    try:
        NamedSharding(NoMesh(), ())
    finally:
        for key, previous in saved.items():
            if previous is None:
                del sys.modules[key]
            else:
                sys.modules[key] = previous


_give_named_shardings_their_check()


# Pytrees. OLYMPUS has its own registries, so other libraries can register the same types in
# jaxlib's default registry. In `none_leaf_registry`, None is a leaf.
PyTreeDef: TypeAlias = _jax.pytree.PyTreeDef
PyTreeRegistry: TypeAlias = _jax.pytree.PyTreeRegistry
DictKey: TypeAlias = _jax.pytree.DictKey
SequenceKey: TypeAlias = _jax.pytree.SequenceKey
GetAttrKey: TypeAlias = _jax.pytree.GetAttrKey
FlattenedIndexKey: TypeAlias = _jax.pytree.FlattenedIndexKey
all_leaves = _jax.pytree.all_leaves
treedef_tuple = _jax.pytree.treedef_tuple

pytree_registry = PyTreeRegistry()
none_leaf_registry = PyTreeRegistry(enable_none=False)
# Compiled calls flatten their arguments with this registry. In it, an array of an extended dtype is
# a node, and its physical array is the only child.
call_registry = PyTreeRegistry()
# A treedef pickles its registry as a reference: the registry's module and name.
pytree_registry.__module__ = none_leaf_registry.__module__ = call_registry.__module__ = __name__
pytree_registry.__name__ = "pytree_registry"
call_registry.__name__ = "call_registry"
none_leaf_registry.__name__ = "none_leaf_registry"
