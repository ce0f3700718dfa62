# SPDX-License-Identifier: Apache-2.0
"""Cache of compiled programs on disk; a process that finds a program need not trace it.

The key of an entry covers everything on which tracing, lowering and compilation depend: a digest of
the function and of everything that it reads (`olympus_ir.programs.calls.identity`), the static
arguments, the types and the structure of the other arguments, the configuration, the versions of
the libraries, and everything on which the compiler depends. Functions without a digest are traced.
Unusual calls are traced, too, for example on a device other than the default one, with custom
pytree nodes, or under a mesh. A log message of level DEBUG gives the reason.
"""

from __future__ import annotations

import logging
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from olympus_ir._jaxlib import config_trace_context
from olympus_ir.programs.calls.identity import UnknownIdentityError, digest
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.calls.tracing import argument_avals, bind_statics
from olympus_ir.programs.tracing import current, empty_axis_environment
from olympus_ir.settings import config_cache_flags, config_states
from olympus_ir.settings.config import config
from olympus_ir.settings.config_flags import dump_ir_to
from olympus_ir.settings.naming import logger_name
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import function_name
from olympus_ir.trees.function_caches import FunctionCache
from olympus_ir.trees.operands import flatten_operands
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.memory_spaces import MemorySpace

from .. import _jaxlib
from ..arrays.layouts import layouts_in_use
from ..arrays.transfer import put_leaf
from ..platforms import backends
from . import cache_folder, cache_key
from .cache_store import UserCache
from .compile_options import compile_options
from .recognition.sources import OLYMPUS_PACKAGES, source_files

__all__ = ["Request", "find", "keep", "request"]

_FORMAT_VERSION = 1
_PLAIN_LEAVES = (bool, int, float, complex)
_PLAIN_NODES = (tuple, list, dict, type(None))
# Flags that do not affect programs.
_WITHOUT_EFFECT = frozenset(
    flag.flag_name for flag in vars(config_cache_flags).values() if hasattr(flag, "flag_name")
)


class _IneligibleError(Exception):
    """Error for a call that cannot use the cache; the message gives the reason."""


class Request(NamedTuple):
    """A call that may find its program on disk.

    Attributes:
      name: the name of the function.
      key: the key of the entry; None if the program was found earlier in this process.
      leaves: the flat operands.
      memo: the function's programs that this process has already found.
      memo_key: the key of this call's program in ``memo``.
    """

    name: str
    key: str | None
    leaves: list[Any]
    memo: dict[Any, _LoadedProgram]
    memo_key: tuple


class _LoadedProgram(NamedTuple):
    """A program that was found on disk."""

    executable: Any
    constants: list[Any]
    kept: tuple[bool, ...]
    out_tree: Any

    def call(self, leaves: Sequence[Any]) -> tuple[Any, Any, bool]:
        operands = [leaf for leaf, keep in zip(leaves, self.kept, strict=True) if keep]
        results = self.executable.call([*self.constants, *operands])
        fastpath = self.executable.fastpath(self.out_tree, self.kept, self.constants)
        return pytrees.tree_unflatten(self.out_tree, results), fastpath, False


_loaded = FunctionCache()


def request(
    fun: Callable[..., Any], options: JitOptions, args: tuple, kwargs: dict[str, Any]
) -> Request | None:
    """Returns all that is needed to look up a call's program in the cache.

    Returns None if the call cannot use the cache, so the function must be traced.

    Args:
      fun: the function.
      options: the function's options.
      args: the positional arguments.
      kwargs: the keyword arguments.
    """
    name = function_name(fun)
    try:
        _check_circumstances(options)
        statics: tuple = ()
        positions = None
        if options.static_argnums or options.static_argnames:
            _, args, kwargs, statics, positions = bind_statics(fun, options, args, kwargs)
        leaves, in_tree = flatten_operands((args, kwargs))
        avals = argument_avals(fun, in_tree, leaves, positions)
        device = backends.default_device()
        committed = [_is_committed(leaf, device) for leaf in leaves]
        memo = _loaded.of(fun)
        memo_key = (options, in_tree, avals, statics, tuple(committed), config_trace_context())
        if memo_key in memo:
            return Request(name, None, leaves, memo, memo_key)
        types = [_type_text(aval) for aval in avals]
        key = _key(fun, options, statics, _tree_text(in_tree), types, committed, device)
    except (_IneligibleError, UnknownIdentityError) as error:
        _log("%s is traced: %s", name, error)
        return None
    except Exception as error:  # tracing raises the error again if the arguments are wrong
        _log("%s is traced after an error: %s", name, error)
        return None
    return Request(name, key, leaves, memo, memo_key)


def find(query: Request | None, executable_type: Any) -> tuple[Any, Any, bool] | None:
    """Calls a program from disk. Returns the result in the form of `jit`'s cache-miss function.

    Returns None if there is no such program.

    Args:
      query: the result of `request` for the call; with None, `find` returns None.
      executable_type: the class of executables that can be called.
    """
    if query is None:
        return None
    if query.key is None:
        return query.memo[query.memo_key].call(query.leaves)
    cache = _cache()
    if cache is None:
        return None
    try:
        entry = cache.get(cache.path_of(query.name, query.key))
        if entry is None:
            _log("%s is traced: no process has left its program", query.name)
            return None
        program = _load(pickle.loads(entry[0]), executable_type)
    except Exception as error:
        _report(f"a program of {query.name} cannot be read: {error}")
        return None
    _log("%s is not traced: its program was found on disk", query.name)
    query.memo[query.memo_key] = program
    return program.call(query.leaves)


def keep(query: Request, program: TracedProgram, compiled: Any) -> None:
    """Stores the program of a call that has been traced.

    Args:
      query: the result of `request` for the call.
      program: the traced program.
      compiled: the compiled form of the program.
    """
    cache = _cache()
    if cache is None or query.key is None or (cache.directory, "failed") in _told:
        return
    try:
        state = _state(program, compiled)
        started = time.monotonic()
        contents = pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL)
        cache.put(cache.path_of(query.name, query.key), contents, time.monotonic() - started)
    except _IneligibleError as error:
        _log("the program of %s is not kept: %s", query.name, error)
    except Exception as error:
        _report(f"the program of {query.name} cannot be written: {error}")


# ---- conditions on a call ----


def _check_circumstances(options: JitOptions) -> None:
    for reason, holds in (
        ("it has options of placement", bool(options.placement)),
        ("arrays with layouts are in use", layouts_in_use.in_use),
        ("there are several processes", backends.distributed_runtime is not None),
        ("programs are dumped", bool(dump_ir_to.value)),
        ("a mesh is in force", bool(config_states.concrete_mesh.value)),
        ("it is called inside of a mapped function", current.axes is not empty_axis_environment),
        ("the default device is no CPU", backends.default_device().platform != "cpu"),
    ):
        if holds:
            raise _IneligibleError(reason)


def _is_committed(leaf: Any, device: Any) -> bool:
    """Returns whether an operand is committed. Raises if it is not an ordinary array or number."""
    if type(leaf) is _jaxlib.ArrayImpl:
        if leaf._sharding != backends.device_sharding(device):
            raise _IneligibleError("an argument is on another device")
        return leaf._committed
    if type(leaf) in _PLAIN_LEAVES or type(leaf) is np.ndarray or isinstance(leaf, np.generic):
        return False
    raise _IneligibleError(f"an argument has the type {type(leaf).__name__}")


def _type_text(aval: Any) -> str:
    plain = type(aval) is ShapedArray and aval.layout is None and not aval.vma
    if not plain or aval.memory_space is not MemorySpace.Device or dtypes.is_extended(aval.dtype):
        raise _IneligibleError(f"an argument has the type {aval}")
    return f"{aval.dtype!r}{aval.shape!r}{aval.weak_type}"


def _tree_text(tree: Any) -> str:
    """Returns a text that identifies a tree structure of tuples, lists and dictionaries."""
    data = tree.node_data()
    if data is None:
        return "*"
    kind, keys = data
    if kind not in _PLAIN_NODES:
        raise _IneligibleError(f"an argument contains the pytree {kind.__name__}")
    if kind is dict and not all(type(key) in (str, int) for key in keys):
        raise _IneligibleError("an argument has a dictionary whose keys are not strings")
    names = repr(list(keys)) if kind is dict else ""
    return f"{kind.__name__}{names}({','.join(map(_tree_text, tree.children()))})"


# ---- the key ----


def _key(
    fun: Callable[..., Any],
    options: JitOptions,
    statics: tuple,
    tree: str,
    types: list[str],
    committed: list[bool],
    device: Any,
) -> str:
    machine = cache_key.circumstances((device,))
    if machine is None:
        raise _IneligibleError("executables are not kept here")
    compiler = compile_options([device.id], partitions=1, options=dict(options.compiler_options))
    changed = [
        (name, repr(config.flag(name).value))
        for name in config
        if name not in _WITHOUT_EFFECT and config.flag(name).value != config.flag(name).default
    ]
    text = repr(
        (
            _FORMAT_VERSION,
            tree,
            types,
            committed,
            options,
            changed,
            config_trace_context(),
            [device.device_kind for device in backends.devices()],
            _library_versions(),
        )
    )
    return cache_key.digest_of(
        digest(fun, _array_contents),
        digest(statics, _array_contents),
        text.encode(),
        compiler.SerializeAsString(),
        *machine,
    )


def _array_contents(value: Any) -> bytes | None:
    """Returns the type and the elements of a device array on one device, for digests."""
    if type(value) is not _jaxlib.ArrayImpl or len(value.sharding.device_set) != 1:
        return None
    facts = f"{_type_text(value.aval)} {value._committed} {value.sharding!r}"
    return facts.encode() + np.asarray(value).tobytes()


def _library_versions() -> tuple[str, ...]:
    """Returns the versions of Python and of the libraries whose functions are identified by name.

    Does not use `importlib.metadata`, whose import takes longer than the rest of a look-up.
    """
    libraries = ("opt_einsum", *OLYMPUS_PACKAGES)
    return sys.version, np.__version__, ml_dtypes.__version__, source_files(libraries)


# ---- entries ----


def _state(program: TracedProgram, compiled: Any) -> dict[str, Any]:
    """Returns the contents of an entry. Raises if the program cannot be stored."""
    lowered, placement, executable = compiled.lowered, compiled.placement, compiled.executable
    device = backends.default_device()
    for reason, holds in (
        ("it is no program of arrays", type(program) is not TracedProgram),
        ("it refers to arrays of other programs", bool(program.hoisted)),
        ("it has effects", bool(lowered.effects or lowered.ordered_effects)),
        ("it calls Python", bool(lowered.host_callbacks)),
        ("its sizes are symbolic", lowered.needs_refinement),
        ("it runs elsewhere", placement.mesh is not None or list(placement.devices) != [device]),
    ):
        if holds:
            raise _IneligibleError(reason)
    for aval in (*lowered.in_avals, *lowered.out_avals):
        _type_text(aval)
        if aval.dtype == dtypes.float0:
            raise _IneligibleError("it has values without elements")
    _tree_text(program.out_tree)
    options = compile_options([device.id], partitions=1)
    module = lowered.module
    if cache_key.executable_key(module, (device,), options, is_asked_for=False) is None:
        raise _IneligibleError("it has foreign calls")
    code = executable.serialized or _jaxlib.serialize_executable(executable.loaded)
    if code is None:
        raise _IneligibleError("XLA cannot write it")
    return {
        "code": code,
        "kept": tuple(lowered.kept),
        "constants": [np.asarray(value) for value in compiled.constants],
        "in_avals": list(lowered.in_avals),
        "out_avals": list(lowered.out_avals),
        "out_tree": program.out_tree,
        "committed": placement.committed,
        "compiler_options": program.params["compiler_options_kvs"],
    }


def _load(state: dict[str, Any], executable_type: Any) -> _LoadedProgram:
    device = backends.default_device()
    sharding = backends.device_sharding(device)
    options = compile_options([device.id], partitions=1, options=dict(state["compiler_options"]))
    _jaxlib.register_called_routines(state["code"])
    loaded = _jaxlib.deserialize_executable(state["code"], (device,), options)
    constants = [put_leaf(value, sharding) for value in state["constants"]]
    in_avals = [
        *(get_aval(value) for value in constants),
        *(aval for aval, kept in zip(state["in_avals"], state["kept"], strict=True) if kept),
    ]
    executable = executable_type(
        loaded,
        in_avals=in_avals,
        in_shardings=[sharding] * len(in_avals),
        out_avals=state["out_avals"],
        out_shardings=[sharding] * len(state["out_avals"]),
        committed=state["committed"],
    )
    return _LoadedProgram(executable, constants, state["kept"], state["out_tree"])


# ---- the folder ----

_opened: tuple[str | None, UserCache | None] | None = None
_told: set[tuple[Path, str]] = set()


def _cache() -> UserCache | None:
    """Returns the cache of programs in the user's folder; None if it is off or cannot be used."""
    global _opened
    if not config_cache_flags.enable_compilation_cache.value:
        return None
    chosen = config_cache_flags.cache_dir.value
    if _opened is None or _opened[0] != chosen:
        try:
            _opened = (chosen, UserCache("programs"))
        except OSError as error:
            cache_folder.warn_quietly(f"traced programs are not kept on disk: {error}")
            _opened = (chosen, None)
    return _opened[1]


def _report(message: str) -> None:
    """Warns of the first failure to read or write a program. Later failures are only logged."""
    cache = _cache()
    mark = (Path() if cache is None else cache.directory, "failed")
    if mark in _told:
        _log("%s", message)
    else:
        _told.add(mark)
        cache_folder.warn_quietly(message)


def _log(message: str, *values: Any) -> None:
    logging.getLogger(logger_name("program_cache")).debug(message, *values)
