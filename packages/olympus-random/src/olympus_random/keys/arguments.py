# SPDX-License-Identifier: Apache-2.0
"""Checks of keys, shapes and dtypes, and the compilation of functions of a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir.diagnostics.errors import ShapeError, TypePromotionError
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.lax.core.axes import integer_or_dim
from olympus_ir.lax.shaping.broadcasting import broadcast_shapes
from olympus_ir.programs.jit import jit
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.settings import config, config_states
from olympus_ir.settings.config_states import LegacyPrngKeyState
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import canonicalize_shape, get_aval
from olympus_ir.types.extended_arrays import ExtendedArray, logical_aval
from olympus_ir.types.promotion import result_type

from ..generators.implementations import KeyType, PRNGImpl, default_implementation
from .primitives import random_wrap_p

__all__ = ["KeyFunction", "check_key", "check_keys", "compiled", "float_dtype", "sample_shape"]


# ---- keys ----


def check_keys(key: Any) -> tuple[Any, bool]:
    """Returns typed keys; converts them from uint32 data if ``key`` is data.

    Returns:
      The typed keys, and whether ``key`` was data.

    Raises:
      TypeError: ``key`` is neither typed keys nor the data of keys.
      ValueError: ``key`` is data, and the configuration forbids it.
    """
    if key.__class__ is ExtendedArray and isinstance(key.dtype, KeyType):
        return key, False
    if isinstance(key, Array) and dtypes.issubdtype(key.dtype, dtypes.prng_key):
        return key, False
    if not all(hasattr(key, name) for name in ("ndim", "shape", "dtype")):
        raise TypeError(
            f"{naming.library} encountered invalid PRNG key data: expected key_data to have ndim, "
            "shape, and "
            f"dtype attributes. Got {key!r}. Make a key of a seed with olympus.random.key(seed)."
        )
    if config.legacy_prng_key.value != LegacyPrngKeyState.ALLOW:
        _complain_of_data()
    return wrap(key, default_implementation()), True


def _complain_of_data() -> None:
    message = (
        "Legacy uint32 key array passed as key to olympus.random function. Please create keys "
        "using olympus.random.key(). If use of a raw key array was intended, set "
        'olympus_legacy_prng_key="allow".'
    )
    if config.legacy_prng_key.value == LegacyPrngKeyState.ERROR:
        raise ValueError(message)
    warn_user(message)


def check_key(name: str, key: Any) -> tuple[Any, bool]:
    """Returns a single typed key; see `check_keys`.

    Raises:
      ValueError: ``key`` is an array of several keys.
    """
    keys, is_data = check_keys(key)
    if keys.ndim:
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {key.shape} != (). "
            "Use olympus.vmap for batching."
        )
    return keys, is_data


def wrap(data: Any, implementation: PRNGImpl) -> Any:
    """Returns typed keys of a generator, made from their data.

    Raises:
      TypeError: the data of keys cannot have this dtype or shape.
    """
    if not (dtypes.is_extended(data.dtype) or np.dtype(data.dtype) == np.uint32):
        raise TypeError(
            f"{naming.library} encountered invalid PRNG key data: expected key_data.dtype = "
            f"uint32; got dtype={dtypes.name_of(data.dtype)}"
        )
    key_shape = implementation.key_shape
    if data.shape[data.ndim - len(key_shape) :] != key_shape or data.ndim < len(key_shape):
        raise TypeError(
            f"{naming.library} encountered invalid PRNG key data: expected key_data.shape to end "
            f"with {key_shape}; got shape={data.shape} for impl={implementation.name}"
        )
    if current.trace is evaluation_trace and isinstance(data, Array):
        aval: Any = get_aval(data)
        return ExtendedArray(data, logical_aval(aval, KeyType(implementation)))
    return random_wrap_p.bind(data, impl=implementation)


# ---- shapes and dtypes ----


def sample_shape(shape: Any) -> tuple[int, ...]:
    """Returns a shape as a tuple; an integer n means ``(n,)``."""
    if type(shape) is tuple:
        return canonicalize_shape(shape)
    try:
        return canonicalize_shape((integer_or_dim(shape),))
    except TypeError:
        return canonicalize_shape(shape)


def checked_shape(name: str, shape: tuple[int, ...], *parameter_shapes: tuple[int, ...]) -> None:
    """Checks that the shapes of parameters broadcast to the shape of the samples.

    Raises:
      ShapeError: the shapes do not broadcast to that of the samples.
    """
    try:
        broadcast = broadcast_shapes(shape, *parameter_shapes)
    except ValueError as error:
        raise ShapeError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument: {error}"
        ) from None
    if broadcast != shape:
        shown = ", ".join(map(str, parameter_shapes))
        raise ShapeError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and give "
            f"it: got parameters of shapes {shown}, which broadcast to {broadcast}, for shape "
            f"argument {shape}"
        )


def check_safe_casts(name: str, dtype: Any, *parameters: Any) -> None:
    """Checks that the dtypes of parameters promote to that of the samples.

    Raises:
      TypePromotionError: a parameter would lose precision or its imaginary part.
    """
    for parameter in parameters:
        if parameter.__class__ not in (int, float) and result_type(parameter, dtype) != dtype:
            own_dtype = get_aval(parameter).dtype
            raise TypePromotionError(
                f"In arguments to {name}, cannot safely cast argument of type "
                f"{dtypes.name_of(own_dtype)} to {dtypes.name_of(dtype)}: give dtype="
                f"{dtypes.name_of(own_dtype)}, or convert the argument"
            )


def refuse_complex(name: str, dtype: Any, *parameters: Any) -> None:
    """Checks that no parameter is complex, because real samples would lose the imaginary part.

    Raises:
      TypePromotionError: a parameter is complex.
    """
    for parameter in parameters:
        if dtypes.issubdtype(result_type(parameter), np.complexfloating):
            check_safe_casts(name, dtype, parameter)


def float_dtype(name: str, dtype: Any, *, complex_too: bool = False) -> Any:
    """Returns the canonical floating dtype of samples; the default float dtype for None.

    Raises:
      ValueError: the dtype is not floating (nor complex, with ``complex_too``).
    """
    if dtype is None:
        return dtypes.default_float_dtype()
    canonical = dtypes.check_and_canonicalize_user_dtype(dtype, name)
    if dtypes.issubdtype(canonical, np.inexact if complex_too else np.floating):
        return canonical
    expected = "a float or complex dtype" if complex_too else "a float dtype"
    raise ValueError(
        f"dtype argument to `{name}` must be {expected}, got {dtypes.name_of(canonical)}"
    )


# ---- compilation ----


# Eager calls pass the data of keys, which is faster, unless the reuse of keys is checked.
checks_reuse = config_states.debug_key_reuse


class KeyFunction:
    """Function whose first operand is a typed key, compiled when it is first called.

    An eager call passes the data of the key, so the compiled program takes no array of an extended
    dtype. Under a trace, the call becomes one ``jit`` equation, unless it is inlined.

    Args:
      fun: ``fun(key, *operands, **options)``. Options are static keyword arguments.
      options: the names of the options.
      inline: whether the equations of the function replace the ``jit`` equation.
    """

    def __init__(
        self, fun: Callable[..., Any], options: tuple[str, ...], inline: bool = False
    ) -> None:
        self.fun = fun
        self.options = options
        self.inline = inline
        self.__name__ = fun.__name__
        self.__doc__ = fun.__doc__
        self._of_key: Callable[..., Any] = None  # type: ignore[assignment] - by _compile
        self._of_data: Callable[..., Any] = None  # type: ignore[assignment]

    def __call__(self, key: Any, *operands: Any, **options: Any) -> Any:
        if checks_reuse.value:
            pass
        elif current.trace is evaluation_trace:
            if key.__class__ is ExtendedArray:
                of_data = self._of_data or self._compile()
                return of_data(
                    key.physical, *operands, implementation=key.dtype.implementation, **options
                )
        elif key.__class__ is ExtendedArray:
            key = random_wrap_p.bind(key.physical, impl=key.dtype.implementation)
        if self._of_key is None:
            self._compile()
        of_key = self._of_key
        return of_key(key, *operands, **options)

    def _compile(self) -> Any:
        # The function is compiled on first use, since the evaluator is chosen after the import of
        # this module.
        fun = self.fun

        def of_data(data: Any, *operands: Any, implementation: PRNGImpl, **options: Any) -> Any:
            key = random_wrap_p.bind(data, impl=implementation)
            return fun(key, *operands, **options)

        self._of_key = jit(fun, static_argnames=self.options, inline=self.inline, name=fun.__name__)
        self._of_data = jit(
            of_data, static_argnames=("implementation", *self.options), name=fun.__name__
        )
        return self._of_data

    def __repr__(self) -> str:
        return f"<compiled function {self.__name__} of a key>"


def compiled(*options: str, inline: bool = False) -> Callable[[Callable[..., Any]], KeyFunction]:
    """Returns a decorator that makes a `KeyFunction`; ``options`` are the names of its options."""
    return lambda fun: KeyFunction(fun, options, inline)
