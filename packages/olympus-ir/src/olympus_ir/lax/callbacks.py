# SPDX-License-Identifier: Apache-2.0
"""Callbacks: calls of Python functions from within traced and compiled programs.

``debug_print`` and ``debug_callback`` run for their side effects, ``pure_callback`` for its
results, ``io_callback`` for both. Interpreters call the functions named ``run_*`` when they reach
the equation of a callback, with one concrete array for each operand.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._jaxlib import Sharding
from ..diagnostics.traceback_filtering import api_boundary
from ..loading import deferred
from ..programs.primitives import Primitive, instruction
from ..programs.wide_constants import wide_constants_allowed
from ..settings import config
from ..settings.naming import logger_name, naming
from ..trees import pytrees
from ..types import dtypes
from ..types.annotations import PyTree
from ..types.avals import AbstractValue, ShapedArray, canonicalize_shape, is_valid_value
from ..types.effects import debug_effect, io_effect, ordered_debug_effect, ordered_io_effect

if TYPE_CHECKING:
    import logging

    from ..diagnostics import format_strings
else:
    format_strings = deferred("..diagnostics.format_strings", milliseconds=0.9)
    logging = deferred("logging", milliseconds=4.0)

__all__ = [
    "debug_callback",
    "debug_callback_p",
    "debug_log",
    "debug_print",
    "debug_print_p",
    "effects_barrier",
    "io_callback",
    "io_callback_p",
    "pure_callback",
    "pure_callback_p",
]


def _callback_primitive(name: str) -> Primitive:
    # Inferred types are not cached, because the cache would keep the user's function alive.
    return instruction(name, multiple_results=True, family="callbacks", cache_inference=False)


debug_print_p = _callback_primitive("debug_print")
debug_callback_p = _callback_primitive("debug_callback")
pure_callback_p = _callback_primitive("pure_callback")
io_callback_p = _callback_primitive("io_callback")

VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
    None,
)


def check_vmap_method(vmap_method: str | None) -> None:
    """Raises ValueError if there is no method of this name to batch a foreign call."""
    if vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be one of the allowed methods {list(VMAP_METHODS)}, but got: "
            f"{vmap_method}"
        )


Types = tuple[Sequence[AbstractValue], frozenset]


@debug_print_p.def_effectful_abstract_eval
def _debug_print_types(*avals: AbstractValue, ordered: bool, **params: Any) -> Types:
    return (), frozenset((ordered_debug_effect if ordered else debug_effect,))


@debug_callback_p.def_effectful_abstract_eval
def _debug_callback_types(*avals: AbstractValue, effect: Any, **params: Any) -> Types:
    return (), frozenset((effect,))


@pure_callback_p.def_abstract_eval
def _pure_callback_types(
    *avals: AbstractValue, result_avals: tuple[ShapedArray, ...], **params: Any
) -> Sequence[AbstractValue]:
    return result_avals


@io_callback_p.def_effectful_abstract_eval
def _io_callback_types(
    *avals: AbstractValue, result_avals: tuple[ShapedArray, ...], ordered: bool, **params: Any
) -> Types:
    return result_avals, frozenset((ordered_io_effect if ordered else io_effect,))


# ---- flat arguments ----


class _FlatCallback:
    """The user's function of pytrees, as a function of a flat list of arrays.

    Two of these objects are equal if their attributes are equal.

    Attributes:
      callback_func: the user's function.
      in_tree: the structure of ``(args, kwargs)``.
      static_args: a pair ``(position, value)`` for each leaf that is not an array.
    """

    __slots__ = ("callback_func", "in_tree", "static_args")

    def __init__(self, callback_func: Callable[..., Any], in_tree: Any, static_args: tuple = ()):
        self.callback_func = callback_func
        self.in_tree = in_tree
        self.static_args = static_args

    def __call__(self, *arrays: Any) -> Any:
        leaves = with_static_leaves(arrays, self.static_args)
        args, kwargs = pytrees.tree_unflatten(self.in_tree, leaves)
        return self.callback_func(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, _FlatCallback)
            and self.callback_func == other.callback_func
            and self.in_tree == other.in_tree
            and self.static_args == other.static_args
        )

    def __hash__(self) -> int:
        return hash((self.callback_func, self.in_tree))

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.callback_func!r}, in_tree={self.in_tree!r})"


def _split_leaves(args: tuple, kwargs: dict[str, Any]) -> tuple[list[Any], tuple, Any]:
    """Splits leaves into arrays and other leaves.

    Returns:
      The arrays, a pair ``(position, value)`` for each other leaf, and the structure.
    """
    leaves, in_tree = pytrees.tree_flatten((args, kwargs))
    arrays, others = [], []
    for position, leaf in enumerate(leaves):
        if is_valid_value(leaf):
            arrays.append(leaf)
        else:
            others.append((position, leaf))
    return arrays, tuple(others), in_tree


def with_static_leaves(arrays: Sequence[Any], static_args: tuple) -> list[Any]:
    """Inserts the leaves that are not arrays at their positions among the arrays."""
    leaves = list(arrays)
    for position, leaf in static_args:
        leaves.insert(position, leaf)
    return leaves


# ---- debugging ----


def debug_print(
    fmt: str | None = None,
    *args: PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: PyTree,
) -> Any:
    """Prints values at run time, also from within traced or compiled functions.

    Args:
      fmt: a format string for `str.format`. If not given, returns a function that takes the format
        string and uses these options.
      *args: values for the numbered fields: arrays, pytrees of arrays, or any static values.
      ordered: whether prints appear in program order.
      partitioned: whether each device of a sharded computation prints its own shard.
      skip_format_check: whether to skip the immediate check that fields and values match.
      **kwargs: values for the named fields.

    Raises:
      ValueError: if ``fmt`` is not a format string or has no field for a value.
      KeyError: if a named field has no value.
      IndexError: if a numbered field has no value.

    Example:
      >>> debug_print("x = {x:.2f}", x=1.5)
      x = 1.50
    """
    if fmt is None:
        _check_no_values("debug_print", args, kwargs)
        return functools.partial(
            debug_print,
            ordered=ordered,
            partitioned=partitioned,
            skip_format_check=skip_format_check,
        )
    _debug_print(fmt, args, kwargs, ordered, partitioned, skip_format_check, None)


def debug_log(
    fmt: str | None = None,
    *args: PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: PyTree,
) -> Any:
    """Logs values at run time through Python's `logging`, at level INFO and the caller's location.

    Args:
      fmt: a format string for `str.format`. If not given, returns a function that takes the format
        string and uses these options.
      *args: values for the numbered fields.
      ordered: whether messages appear in program order.
      partitioned: whether each device of a sharded computation logs its own shard.
      skip_format_check: whether to skip the immediate check that fields and values match.
      **kwargs: values for the named fields.

    Example:
      >>> debug_log("x = {x:.2f}", x=1.5)
    """
    if fmt is None:
        _check_no_values("debug_log", args, kwargs)
        return functools.partial(
            debug_log,
            ordered=ordered,
            partitioned=partitioned,
            skip_format_check=skip_format_check,
        )
    frame = sys._getframe(1)
    record = logging.LogRecord(
        "olympus.debug", logging.INFO, frame.f_code.co_filename, frame.f_lineno, "", (), None
    )
    _debug_print(fmt, args, kwargs, ordered, partitioned, skip_format_check, record)


def _check_no_values(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises TypeError if a call that sets options also passes values."""
    if args or kwargs:
        raise TypeError(
            f"{name} received unexpected arguments in the two-call form: args={args} "
            f"kwargs={kwargs}. Pass values to the function that it returns."
        )


def _debug_print(
    fmt: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ordered: bool,
    partitioned: bool,
    skip_format_check: bool,
    logging_record: Any,
) -> None:
    has_placeholders = True
    if not skip_format_check:
        has_placeholders = format_strings.check_fields(fmt, args, kwargs)
    arrays, static_args, in_tree = _split_leaves(args, kwargs)
    debug_print_p.bind(
        *arrays,
        fmt=fmt,
        ordered=bool(ordered),
        partitioned=bool(partitioned),
        in_tree=in_tree,
        static_args=static_args,
        np_printoptions=tuple(np.get_printoptions().items()),
        has_placeholders=has_placeholders,
        logging_record=logging_record,
    )


@api_boundary
def run_debug_print(
    *arrays: Any,
    fmt: str,
    in_tree: Any,
    static_args: tuple,
    np_printoptions: tuple,
    has_placeholders: bool,
    logging_record: Any,
    **params: Any,
) -> list[Any]:
    """Prints or logs the values of a `debug_print` or `debug_log`."""
    args, kwargs = pytrees.tree_unflatten(in_tree, with_static_leaves(arrays, static_args))
    if has_placeholders:
        options = dict(np_printoptions)
        options.pop("override_repr", None)
        with np.printoptions(**options):
            text = fmt.format(*args, **kwargs)
    else:
        text = fmt
    if logging_record is None:
        print(text)
    else:
        _log(logging_record, text)
    return []


def _log(place: Any, text: str) -> None:
    """Logs a message with the location, level and logger of the log record ``place``."""
    logger = logging.getLogger(place.name)
    if logger.isEnabledFor(place.levelno):
        logger.handle(logging.makeLogRecord({**vars(place), "msg": text, "created": time.time()}))


def debug_callback(
    callback: Callable[..., None] | None = None,
    *args: PyTree,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: PyTree,
) -> Any:
    """Calls a Python function with the values of arrays, for side effects such as logging.

    Args:
      callback: the function; its result is ignored. It may be called more than once, or not at all
        if the compiler removes the surrounding computation. If not given, returns a function that
        takes the callback and uses these options.
      *args: the callback's arguments: arrays, pytrees of arrays, or any static values.
      ordered: whether calls happen in program order.
      partitioned: whether each device of a sharded computation calls the function with its own
        shards.
      **kwargs: the callback's keyword arguments.

    Raises:
      TypeError: if ``callback`` is not callable.

    Example:
      >>> seen = []
      >>> debug_callback(lambda x: seen.append(float(x)), 2.0)
      >>> effects_barrier(); seen
      [2.0]
    """
    if callback is None:
        _check_no_values("debug_callback", args, kwargs)
        return functools.partial(debug_callback, ordered=ordered, partitioned=partitioned)
    if not callable(callback):
        raise TypeError(
            "first argument to olympus.debug.callback must be callable, but got an object of type "
            f"{type(callback)}"
        )
    arrays, static_args, in_tree = _split_leaves(args, kwargs)
    debug_callback_p.bind(
        *arrays,
        callback=_FlatCallback(callback, in_tree, static_args),
        effect=ordered_debug_effect if ordered else debug_effect,
        partitioned=bool(partitioned),
    )


@api_boundary
def run_debug_callback(*arrays: Any, callback: _FlatCallback, **params: Any) -> list[Any]:
    """Calls the function of a `debug_callback`."""
    with _failures_logged("debugging", "debug.callback"):
        callback(*arrays)
    return []


@contextlib.contextmanager
def _failures_logged(subject: str, function: str) -> Iterator[None]:
    """Logs an exception of a user's function, which may be raised late, or nowhere."""
    try:
        yield
    except BaseException:
        logging.getLogger(logger_name(subject)).exception("%s.%s failed", naming.module, function)
        raise


# ---- callbacks with results ----


def _result_avals(result_shape_dtypes: Any) -> tuple[tuple[ShapedArray, ...], Any]:
    leaves, out_tree = pytrees.tree_flatten(result_shape_dtypes)
    avals = []
    for leaf in leaves:
        shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
        if shape is None or dtype is None:
            raise TypeError(
                "result_shape_dtypes must be a pytree of olympus.ShapeDtypeStruct, or of arrays "
                f"of which only shape and dtype are used; got {leaf!r} of type {type(leaf)}"
            )
        if not dtypes.is_extended(dtype):
            dtype = np.dtype(dtype)
            allowed = config.enable_x64.value or wide_constants_allowed()
            if not allowed and dtypes.canonicalize_dtype(dtype) != dtype:
                raise ValueError(
                    "result_shape_dtypes cannot specify 64-bit types when "
                    f"`{naming.module}_enable_x64` is disabled, got {dtypes.name_of(dtype)}"
                )
        avals.append(ShapedArray(canonicalize_shape(shape), dtype))
    return tuple(avals), out_tree


def _check_sharding(function: str, sharding: Any) -> None:
    if sharding is not None and not isinstance(sharding, Sharding):
        raise NotImplementedError(
            f"{function} only supports SingleDeviceSharding, which names the device that runs the "
            f"function, but got {sharding!r} of type {type(sharding)}"
        )


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: Sharding | None = None,
    vmap_method: str | None = None,
    **kwargs: PyTree,
) -> PyTree:
    """Calls a Python function without side effects for its result.

    Args:
      callback: a function of arrays that returns arrays. It may be called any number of times, or
        not at all.
      result_shape_dtypes: the types of the result, as a pytree of `ShapeDtypeStruct`.
      *args: the callback's arguments, arrays or pytrees of arrays.
      sharding: the `SingleDeviceSharding` of the device that runs the function; by default, the
        first device of the program.
      vmap_method: the behavior under `vmap`. ``"sequential"`` calls the function once for each
        batch element; ``"expand_dims"`` and ``"broadcast_all"`` call it once, with a leading
        dimension of the batch size on each operand. For operands that are not batched,
        ``"expand_dims"`` adds a leading dimension of size one instead.
      **kwargs: the callback's keyword arguments, arrays or pytrees of arrays.

    Returns:
      A pytree of arrays of the types in ``result_shape_dtypes``.

    Raises:
      ValueError: if ``vmap_method`` is unknown, or results have 64-bit dtypes while these are
        disabled.
      TypeError: if ``result_shape_dtypes`` has leaves without shape and dtype.

    Example:
      >>> import numpy as np
      >>> pure_callback(np.sin, np.zeros((), np.float32), 0.0)
      Array(0., dtype=float32)
    """
    check_vmap_method(vmap_method)
    _check_sharding("pure_callback", sharding)
    arrays, in_tree = pytrees.tree_flatten((args, kwargs))
    result_avals, out_tree = _result_avals(result_shape_dtypes)
    if not result_avals:
        return pytrees.tree_unflatten(
            out_tree, ()
        )  # a pure function without results need not be called
    results = pure_callback_p.bind(
        *arrays,
        callback=_FlatCallback(callback, in_tree),
        result_avals=result_avals,
        sharding=sharding,
        vmap_method=vmap_method,
    )
    return pytrees.tree_unflatten(out_tree, results)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: Sharding | None = None,
    ordered: bool = False,
    **kwargs: PyTree,
) -> PyTree:
    """Calls a Python function with side effects, exactly as often as the program states.

    Args:
      callback: a function of arrays that returns arrays.
      result_shape_dtypes: the types of the result, as a pytree of `ShapeDtypeStruct`; None for a
        function without results.
      *args: the callback's arguments, arrays or pytrees of arrays.
      sharding: the `SingleDeviceSharding` of the device that runs the function; by default, the
        first device of the program.
      ordered: whether calls happen in program order.
      **kwargs: the callback's keyword arguments, arrays or pytrees of arrays.

    Returns:
      A pytree of arrays of the types in ``result_shape_dtypes``.

    Example:
      >>> import itertools, numpy as np
      >>> counter = itertools.count(7)
      >>> io_callback(lambda: np.int32(next(counter)), np.zeros((), np.int32))
      Array(7, dtype=int32)
    """
    _check_sharding("io_callback", sharding)
    arrays, in_tree = pytrees.tree_flatten((args, kwargs))
    result_avals, out_tree = _result_avals(result_shape_dtypes)
    results = io_callback_p.bind(
        *arrays,
        callback=_FlatCallback(callback, in_tree),
        result_avals=result_avals,
        sharding=sharding,
        ordered=bool(ordered),
    )
    return pytrees.tree_unflatten(out_tree, results)


@api_boundary
def run_callback(
    *arrays: Any, callback: _FlatCallback, result_avals: tuple[ShapedArray, ...], **params: Any
) -> list[np.ndarray]:
    """Calls the function of a `pure_callback` or `io_callback` and checks its results.

    Raises:
      RuntimeError: if the number, shapes or dtypes of the results differ from the declaration.
    """
    with _failures_logged("callback", "io_callback" if "ordered" in params else "pure_callback"):
        leaves = pytrees.tree_leaves(callback(*arrays))
    if len(leaves) != len(result_avals):
        raise RuntimeError(
            f"Mismatched number of outputs from callback. Expected: {len(result_avals)}, Actual: "
            f"{len(leaves)}. The results must have the types in `result_shape_dtypes`."
        )
    results = []
    for position, (leaf, aval) in enumerate(zip(leaves, result_avals, strict=True)):
        array = np.asarray(leaf)
        if array.shape != aval.shape:
            raise RuntimeError(
                f"Incorrect output shape for return value #{position}: Expected: {aval.shape}, "
                f"Actual: {array.shape}"
            )
        if array.dtype != aval.dtype and dtypes.canonicalize_dtype(array.dtype) != aval.dtype:
            raise RuntimeError(
                f"Incorrect output dtype for return value #{position}: Expected: {aval.dtype}, "
                f"Actual: {dtypes.canonicalize_dtype(array.dtype)}"
            )
        results.append(array.astype(aval.dtype, copy=False))
    return results


# ---- waiting ----

_barriers: list[Callable[[], None]] = []


def register_effects_barrier(wait: Callable[[], None]) -> None:
    """Registers a function that waits for the side effects of running programs."""
    _barriers.append(wait)


def effects_barrier() -> None:
    """Waits until all side effects of the programs started so far have happened.

    Example:
      >>> debug_print("done"); effects_barrier()
      done
    """
    for wait in _barriers:
        wait()
