# SPDX-License-Identifier: Apache-2.0
"""`jit`: functions compiled by XLA at their first call for each signature.

`jit` returns a C++ function object of jaxlib. C++ handles repeated calls. The Python code of this
module runs for new signatures, and while a function is being traced.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, overload

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.loading import deferred
from olympus_ir.programs.calls.options import JitOptions, jit_options
from olympus_ir.programs.calls.trace_history import histories
from olympus_ir.programs.calls.traced_programs import RunArrays, TracedProgram
from olympus_ir.programs.calls.tracing import trace_call
from olympus_ir.programs.jit import call_under_trace
from olympus_ir.programs.primitives import declared_primitives
from olympus_ir.programs.tracing import current, escaped_tracer_error, evaluation_trace
from olympus_ir.settings.config_flags import cpu_retained_memory
from olympus_ir.settings.config_flags import tiers as tiers_by_default
from olympus_ir.settings.sentinels import NOT_GIVEN, NotGiven
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import function_name
from olympus_ir.trees.function_caches import clear_function_caches, forget_function
from olympus_ir.trees.pickled_functions import name_in_module
from olympus_ir.types import known_types
from olympus_ir.types.annotations import PyTree

from .._jaxlib import PjitFunction
from ..compiling.placement.requests import check_shardings
from ..platforms.backends import are_backends_initialized, clear_backends
from . import effect_tokens
from .cpp_functions import clear_call_caches, make_cpp_function
from .operand_layouts import check_layouts
from .program_executables import compiled_for
from .result_checks import check_results, checks_results

# These modules are imported late for a fast import of OLYMPUS. `stages` loads MLIR and the lowering
# rules, and the other modules load the rules of all transformations.
if TYPE_CHECKING:
    from olympus_ir import plain_python
    from olympus_ir.programs import mutable_types

    from ..compiling import program_cache
    from ..platforms import retained_memory
    from . import executables, interpreter_exit, nested_shardings, stages
    from .jit_types import JitKeywords, JittedFunction
    from .on_reference import cold_evaluation
    from .on_reference import tiers as tiered
else:
    mutable_types = deferred("olympus_ir.programs.mutable_types", milliseconds=5.0)
    retained_memory = deferred("..platforms.retained_memory", milliseconds=1.0)
    cold_evaluation = deferred(".on_reference.cold_evaluation", milliseconds=20.0)
    plain_python = deferred("olympus_ir.plain_python", milliseconds=15.0)
    executables = deferred(".executables", milliseconds=0.5)
    interpreter_exit = deferred(".interpreter_exit", milliseconds=1.0)
    nested_shardings = deferred(".nested_shardings", milliseconds=290.0)
    program_cache = deferred("..compiling.program_cache", milliseconds=15.0)
    stages = deferred(".stages", milliseconds=190.0)
    tiered = deferred(".on_reference.tiers", milliseconds=20.0)

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(fun: Callable[P, R], /, **options: Unpack[JitKeywords]) -> JittedFunction[P, R]: ...
@overload
def jit(
    **options: Unpack[JitKeywords],
) -> Callable[[Callable[P, R]], JittedFunction[P, R]]: ...
def jit(
    fun: Callable[..., Any] | NotGiven = NOT_GIVEN,
    /,
    *,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
    control_flow: bool = False,
    max_traces: int | None = None,
    compile_budget: float | str = "auto",
    cache: bool | None = None,
    tiers: bool | None = None,
) -> Any:
    """Compiles a function with XLA when it is called.

    The function is traced once for each signature of its arguments: their tree structures, shapes
    and dtypes, and the values of static arguments. It must be pure: prints and other side effects
    happen only during tracing.

    Args:
      fun: a function of arrays, scalars and pytrees of them, whose results are the same kinds of
        values. If not given, `jit` returns a decorator.
      in_shardings: the shardings of operands; None to keep their current shardings.
      out_shardings: the shardings of results; None to leave them to the compiler.
      static_argnums: positions of arguments whose values are compiled in. The values must be
        hashable.
      static_argnames: names of arguments whose values are compiled in.
      donate_argnums: positions of donated arguments, whose memory the results may reuse. Donated
        arrays cannot be used after the call.
      donate_argnames: names of donated arguments.
      keep_unused: whether the executable also takes the arguments that the function does not use.
      device: the device to run on.
      backend: the platform to run on.
      inline: whether to inline the function when another `jit` traces a call of it.
      compiler_options: options of XLA by name.
      control_flow: whether Python's control flow may depend on traced values: ``if``, ``while``,
        ``for`` over ranges, ``and``, ``or``, ``not`` and conditional expressions become operations
        of the program. The source of the function must be available.
      max_traces: the number of times that the function may be traced; None for no limit.
      compile_budget: the compile time to aim at, in seconds. XLA's CPU compiler is slow for code
        that is repeated many times, such as the unrolled steps of a solver. Such programs are split
        into parts that are expected to compile within the budget; ``compiled.report()`` lists the
        places. "auto" splits a program only if this saves much time. `float("inf")` never splits
        programs.
      cache: whether a program that another process has stored on disk may replace tracing. It is
        used only if the function and everything that it reads are provably the same
        (docs/caches.md). None stands for the flag ``olympus_program_cache``.
      tiers: whether the first calls run on NumPy, equation by equation, while the program compiles
        in another thread; None stands for the flag ``olympus_tiers``. The attribute ``tier`` of the
        function is "reference" or "compiled", and its method ``wait()`` waits for the compilation.
        The last digits of results may differ between tiers, as between compilers.

    Returns:
      A function with the arguments and results of ``fun``, and with ``lower``, ``trace``,
      ``eval_shape`` and ``clear_cache``.

    Raises:
      TypeError: ``fun`` is not callable.
      RuntimeError: a call would trace the function more than ``max_traces`` times. The message
        names the argument that differs.

    Example:
      >>> import olympus.numpy as jnp
      >>> @jit
      ... def selu(x, alpha=1.67, scale=1.05):
      ...     return scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)
      >>> selu(jnp.float32(2.0))
      Array(2.1, dtype=float32)
    """
    keywords = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
        "device": device,
        "backend": backend,
        "inline": inline,
        "compiler_options": compiler_options,
        "max_traces": max_traces,
        "compile_budget": compile_budget,
        "cache": cache,
        "tiers": tiers,
    }

    def compiled(fun: Callable[..., Any]) -> Any:
        if not control_flow:
            return _jit(fun, **keywords)
        jitted = _jit(plain_python.with_control_flow(fun), **keywords)
        jitted._olympus_recipe = _with_control_flow, (fun, keywords)
        return jitted

    return compiled if isinstance(fun, NotGiven) else compiled(fun)


def _with_control_flow(fun: Callable[..., Any], keywords: dict[str, Any]) -> Any:
    """Returns the jitted function for ``control_flow=True``. Pickles refer to this function."""
    return jit(fun, control_flow=True, **keywords)


def _jit(
    fun: Callable[..., Any],
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    device: Any = None,
    backend: str | None = None,
    **keywords: Any,
) -> Any:
    placement = _placement(in_shardings, out_shardings, device, backend)
    options = jit_options(fun, placement=placement, **keywords)
    return make_jitted(fun, options)


def _placement(in_shardings: Any, out_shardings: Any, device: Any, backend: str | None) -> tuple:
    """Returns the user's placement options as pairs of name and value."""
    if device is not None or backend is not None:
        _check_single_device(in_shardings, out_shardings, device, backend)
    placement = []
    for name, value in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if value is not None:
            leaves, tree = pytrees.tree_flatten(value)
            check_shardings(name, leaves)
            placement.append((name, (tree, tuple(leaves))))
    if device is not None:
        placement.append(("device", device))
    if backend is not None:
        placement.append(("backend", backend))
    return tuple(placement)


def _check_single_device(
    in_shardings: Any, out_shardings: Any, device: Any, backend: str | None
) -> None:
    """Warns of the deprecated arguments `device` and `backend` of `jit`.

    Raises:
      ValueError: both are given, or one of them beside shardings.
      TypeError: ``device`` is no device.
    """
    place = 'olympus.local_devices(backend="cpu")[0]'
    warn_user(
        "backend and device argument on jit is deprecated. You can use "
        f"`olympus.device_put(..., {place})` on the inputs to the jitted function to get the same "
        "behavior.",
        DeprecationWarning,
    )
    if device is not None and backend is not None:
        raise ValueError(
            f"can't specify both a device and a backend for jit, got device={device!r} and "
            f"backend={backend!r}; the device alone is enough."
        )
    for name, given in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if given is not None:
            raise ValueError(
                f"If backend or device is specified on jit, then {name} should not be specified. "
                "Leave `device` and `backend` out."
            )
    if device is not None and not hasattr(device, "platform"):
        raise TypeError(
            f"The argument device of jit must be a device, got {device!r}; {place} is one."
        )


def make_jitted(fun: Callable[..., Any], options: JitOptions, *, eager: bool = False) -> Any:
    """Returns the C++ function object for a function and its options.

    Args:
      fun: the function.
      options: the function's options.
      eager: whether NumPy may evaluate the first calls, as for eager operations.
    """
    jitted = make_cpp_function(
        function_name(fun),
        fun,
        _cache_miss(fun, options, _run_eagerly if eager else _run_arrays),
        static_argnums=options.static_argnums,
        static_argnames=options.static_argnames,
        key=options,
    )
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(fun, name):
            try:
                setattr(jitted, name, getattr(fun, name))
            except (AttributeError, TypeError):
                pass
    vars(jitted).update(_attributes(fun))
    jitted.__wrapped__ = fun
    jitted._olympus_options = options
    return jitted


def _attributes(fun: Any) -> dict[str, Any]:
    """Returns the attributes of a function that do not hide those of compiled functions."""
    return {
        name: value
        for name, value in getattr(fun, "__dict__", {}).items()
        if not name.startswith("_olympus_") and not hasattr(PjitFunction, name)
    }


# ---- cache misses of the C++ call path ----

_SHARDINGS = ("in_shardings", "out_shardings")


def _cache_miss(
    fun: Callable[..., Any], options: JitOptions, run_arrays: RunArrays
) -> Callable[..., Any]:
    """Returns the function that C++ calls if its cache has no executable for the arguments.

    That function returns three values: the result, the `Fastpath` for further calls or None, and
    whether C++ drops its entry. The entry is dropped if the program is not compiled yet, because
    C++ never requests a `Fastpath` again for an entry that had none at first.
    """
    placement = nested_shardings.nested_placement if options.placement else None
    sharded = any(name in _SHARDINGS for name, _ in options.placement)

    def call(args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Any, bool]:
        if current.trace is not evaluation_trace:
            return call_under_trace(fun, options, args, kwargs, placement), None, False
        request = None
        if options.is_cached and run_arrays is _run_arrays and not checks_results():
            request = program_cache.request(fun, options, args, kwargs)
            outcome = program_cache.find(request, executables.Executable)
            if outcome is not None:
                return outcome
        program, leaves = trace_call(fun, options, args, kwargs)
        if sharded and program.kind == "references":
            return _call_with_references(fun, options, args, kwargs), None, False
        results, fastpath = program.run(run_arrays, options, leaves)
        is_cold = fastpath is None and program.is_cold
        if is_cold and run_arrays is _run_arrays:
            tiered.note_call(fun, program)
        if request is not None and not is_cold:
            program_cache.keep(request, program, compiled_for(program, options, leaves))
        return pytrees.tree_unflatten(program.out_tree, results), fastpath, is_cold

    @api_boundary
    def cache_miss(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        if not known_types.mutable or hasattr(fun, "knows_mutables"):
            return call(args, kwargs)
        return _call_with_mutables(fun, options, call, args, kwargs)

    return cache_miss


def _call_with_mutables(
    fun: Callable[..., Any],
    options: JitOptions,
    call: Callable[..., Any],
    args: tuple,
    kwargs: dict[str, Any],
) -> tuple:
    """Calls a function whose arguments may be objects of mutable types."""
    known = mutable_types.result_without_mutables(fun, call, args, kwargs)
    if known is not None:
        return known
    numbers, names = options.static_argnums, options.static_argnames
    return mutable_types.call_jitted(jit, fun, numbers, names, args, kwargs), None, False


def _call_with_references(
    fun: Callable[..., Any], options: JitOptions, args: tuple, kwargs: dict[str, Any]
) -> Any:
    """Calls a function of references inside another program, where it may have any shardings."""

    @functools.wraps(fun)
    def nested(*args: Any, **kwargs: Any) -> Any:
        return call_under_trace(fun, options, args, kwargs, nested_shardings.nested_placement)

    other_options = tuple([pair for pair in options.placement if pair[0] not in _SHARDINGS])
    without_shardings = options.replace(placement=other_options)
    program, leaves = trace_call(nested, without_shardings, args, kwargs)
    results, _ = program.run(_run_arrays, without_shardings, leaves)
    return pytrees.tree_unflatten(program.out_tree, results)


def _run_arrays(
    program: TracedProgram, options: JitOptions, operands: Sequence[Any]
) -> tuple[Sequence[Any], Any]:
    """Runs a program of arrays. Returns the flat results, and a `Fastpath` for later calls."""
    if program.hoisted:
        name = program.params["name"]
        raise escaped_tracer_error(program.hoisted[0], f"was used by `{name}` under jit")
    if _has_tiers(options):
        results = tiered.evaluate(program, options, operands)
        if results is not None:
            return results, None
    compiled = compiled_for(program, options, operands)
    check_layouts(compiled, operands)
    results = compiled.call(operands)
    if checks_results():
        check_results(program, operands, results)
        return results, None
    return results, compiled.fastpath(program.out_tree, operands)


def _has_tiers(options: JitOptions) -> bool:
    return tiers_by_default.value if options.tiers is None else options.tiers


def _run_eagerly(
    program: TracedProgram, options: JitOptions, operands: Sequence[Any]
) -> tuple[Sequence[Any], Any]:
    """Does the same as `_run_arrays`, but NumPy may evaluate the first calls."""
    results = cold_evaluation.evaluate(program, options, operands)
    return _run_arrays(program, options, operands) if results is None else (results, None)


def clear_caches() -> None:
    """Drops all traced programs and executables of compiled functions and eager operations.

    With the flag ``olympus_cpu_retained_memory``, it also returns free memory to the system.

    Example:
      >>> clear_caches()
    """
    clear_function_caches()
    clear_call_caches()
    for primitive in declared_primitives():
        clear_eager = getattr(primitive.eager, "clear_cache", None)
        if clear_eager is not None:
            clear_eager()
            primitive.eager = None
    if cpu_retained_memory.value > 0:
        retained_memory.return_memory()


@atexit.register
def _release_devices() -> None:
    """Drops the references to the clients of devices when the interpreter ends.

    Destroying a client waits for its computations. Otherwise, its threads and callbacks would still
    run after the interpreter has ended, which causes a segmentation fault.
    """
    if are_backends_initialized():
        try:
            effect_tokens.barrier()
        finally:
            clear_caches()
            histories.clear()
            clear_backends()
            interpreter_exit.park_daemon_threads()
            interpreter_exit.end_if_failed()


# ---- methods of jitted functions ----


@api_boundary
def _trace(self: Any, *args: Any, **kwargs: Any) -> stages.Traced:
    """Traces the function for the types of its arguments: arrays or `ShapeDtypeStruct`s."""
    return stages.trace(self.__wrapped__, self._olympus_options, args, kwargs)


@api_boundary
def _lower(
    self: Any,
    *args: Any,
    lowering_platforms: Sequence[str] | None = None,
    **kwargs: Any,
) -> stages.Lowered:
    """Traces and lowers the function for the types of the given arguments."""
    return _trace(self, *args, **kwargs).lower(lowering_platforms=lowering_platforms)


@api_boundary
def _eval_shape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the shapes and dtypes of the result without computing it."""
    return _trace(self, *args, **kwargs).out_info


def _tier(self: Any) -> str:
    """The tier that runs the signature of the last call: "reference" or "compiled"."""
    tier = tiered.tier_of(self.__wrapped__)
    if tier is None:
        is_new = _has_tiers(self._olympus_options) and not self._cache_size()
        tier = "reference" if is_new else "compiled"
    return tier


def _wait(self: Any) -> None:
    """Waits until all signatures that were called have been compiled.

    The next call raises the error of a failed compilation.
    """
    tiered.wait(self.__wrapped__)


def _clear_cache(self: Any) -> None:
    """Drops the traced and compiled forms of the function."""
    self._clear_cache()
    if (fun := getattr(self, "__wrapped__", None)) is not None:  # eager operations have none
        forget_function(fun)


def _reduce(self: Any, protocol: Any) -> Any:
    """Returns the contents of pickles: the function's name, or the function and its options."""
    own_recipe = getattr(self, "_olympus_recipe", None)
    recipe = own_recipe or (make_jitted, (self.__wrapped__, self._olympus_options))
    return name_in_module(self) or recipe


PjitFunction.__reduce_ex__ = _reduce
PjitFunction.trace = _trace
PjitFunction.lower = _lower
PjitFunction.eval_shape = _eval_shape
PjitFunction.tier = property(_tier)
PjitFunction.wait = _wait
PjitFunction.clear_cache = _clear_cache
