# SPDX-License-Identifier: Apache-2.0
"""The base class of test cases, with assertions of arrays."""

from __future__ import annotations

import contextlib
import re
import textwrap
import unittest
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np

import olympus
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.settings.config_states import enable_x64
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes

from .. import comparisons
from . import counters
from .case_flags import TEST_NUM_THREADS
from .cases import parameterized
from .contexts import (
    assert_global_configs_unchanged,
    global_config_context,
    thread_local_config_context,
)
from .warning_checks import raise_on_warnings, record_warnings

__all__ = [
    "JIT_IMPLEMENTATION",
    "BufferDonationTestCase",
    "JaxTestCase",
    "with_config",
    "with_global_config",
]


def _base() -> Any:
    """Returns the class of parameterized test cases, or that of `unittest` without absl."""
    try:
        return parameterized().TestCase
    except ImportError:
        return unittest.TestCase


_TestCase: Any = _base()


class JaxTestCase(_TestCase):
    """Test case with assertions of arrays, strict settings and a generator of random numbers."""

    _default_global_config: ClassVar[dict[str, Any]] = {}
    _default_thread_local_config: ClassVar[dict[str, Any]] = {
        "jax_enable_checks": True,
        "jax_numpy_dtype_promotion": "strict",
        "jax_numpy_rank_promotion": "raise",
        "jax_traceback_filtering": "off",
        "jax_legacy_prng_key": "error",
    }

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(assert_global_configs_unchanged())
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))
        self.enterContext(global_config_context(**self._default_global_config))
        self.enterContext(thread_local_config_context(**self._default_thread_local_config))

    def tearDown(self) -> None:
        assert current.trace is evaluation_trace, "the test has left a trace open"
        super().tearDown()

    def rng(self) -> np.random.RandomState:
        """Returns the test's generator; its seed depends on the name of the test."""
        return self._rng

    # ---- assertions of values ----

    def assertDtypesMatch(
        self, actual: Any, desired: Any, *, canonicalize_dtypes: bool = True
    ) -> None:
        """Compares dtypes; without 64-bit types, a dtype of 64 bits equals that of 32 bits."""
        found = [comparisons.dtype_of(actual), comparisons.dtype_of(desired)]
        if canonicalize_dtypes and not enable_x64.value:
            found = [dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True) for dtype in found]
        self.assertEqual(*found)

    def assertArraysEqual(
        self,
        actual: Any,
        desired: Any,
        *,
        check_dtypes: bool = True,
        err_msg: str = "",
        allow_object_dtype: bool = False,
        verbose: bool = True,
    ) -> None:
        """Compares the elements of two arrays.

        Raises:
          TypeError: NumPy converts a value to an array of objects.
        """
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)
        actual, desired = np.asarray(actual), np.asarray(desired)
        if not allow_object_dtype and object in (actual.dtype, desired.dtype):
            raise TypeError(
                "assertArraysEqual got values that NumPy converts to arrays of objects. "
                "Compare the data of keys, or the leaves of trees with assertAllClose."
            )
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(actual, desired, err_msg=err_msg, verbose=verbose)

    def assertArraysAllClose(
        self,
        actual: Any,
        desired: Any,
        *,
        check_dtypes: bool = True,
        atol: Any = None,
        rtol: Any = None,
        err_msg: str = "",
    ) -> None:
        """Compares the elements of two arrays up to tolerances."""
        self.assertEqual(actual.shape, desired.shape)
        comparisons.assert_close(actual, desired, atol=atol, rtol=rtol, err_msg=err_msg)
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)

    def assertAllClose(
        self,
        actual: Any,
        desired: Any,
        *,
        check_dtypes: bool = True,
        atol: Any = None,
        rtol: Any = None,
        canonicalize_dtypes: bool = True,
        err_msg: str = "",
    ) -> None:
        """Compares arrays, scalars, or dictionaries and sequences of them, up to tolerances.

        Raises:
          TypeError: two values are no arrays, and differ.
        """
        options: dict[str, Any] = {
            "check_dtypes": check_dtypes,
            "atol": atol,
            "rtol": rtol,
            "canonicalize_dtypes": canonicalize_dtypes,
            "err_msg": err_msg,
        }
        if isinstance(actual, dict):
            self.assertIsInstance(desired, dict)
            self.assertEqual(set(actual), set(desired))
            for key, value in actual.items():
                self.assertAllClose(value, desired[key], **options)
        elif _is_array(actual):
            if not _is_array(desired):
                self.fail(f"Expected array-like, got {desired}")
            if check_dtypes:
                self.assertDtypesMatch(actual, desired, canonicalize_dtypes=canonicalize_dtypes)
            actual, desired = np.asarray(actual), np.asarray(desired)
            options = {"atol": atol, "rtol": rtol, "err_msg": err_msg}
            self.assertArraysAllClose(actual, desired, check_dtypes=False, **options)
        elif _is_sequence(actual):
            if _is_array(desired) or not _is_sequence(desired):
                self.fail(f"Expected sequence, got {desired}")
            self.assertEqual(len(actual), len(desired))
            for item, other in zip(actual, desired, strict=True):
                self.assertAllClose(item, other, **options)
        elif actual != desired:
            raise TypeError(f"{type(actual)} and {type(desired)} cannot be compared")

    def assertMultiLineStrippedEqual(self, expected: str, what: str) -> None:
        """Compares texts without the space at the beginnings and ends of lines."""

        def stripped(text: str) -> str:
            return re.sub(r"\s*\n\s*", "\n", textwrap.dedent(text).strip())

        self.assertMultiLineEqual(stripped(expected), stripped(what), msg=f"Found\n{what}")

    # ---- assertions of warnings ----

    def assertNoWarnings(self) -> AbstractContextManager[None]:
        """Returns a context in which warnings are errors."""
        return raise_on_warnings()

    @contextlib.contextmanager
    def assertWarns(
        self, warning: type[Warning], *, msg: str | None = None
    ) -> Iterator[list[warnings.WarningMessage]]:
        """Expects a warning whose text contains ``msg``."""
        with self.assertWarnsRegex(warning, None if msg is None else re.escape(msg)) as recorded:
            yield recorded

    @contextlib.contextmanager
    def assertWarnsRegex(
        self, warning: type[Warning], regex: str | re.Pattern[str] | None
    ) -> Iterator[list[warnings.WarningMessage]]:
        """Expects a warning in whose text a pattern is found."""
        with record_warnings() as recorded:
            yield recorded
        pattern = re.compile(regex or "")
        for record in recorded:
            if isinstance(record.message, warning) and pattern.search(str(record.message)):
                return
        found = [str(record.message) for record in recorded]
        self.fail(f"Expected {warning.__name__} with {regex!r}, got the warnings {found}")

    def assertDeprecationWarnsOrRaises(
        self, deprecation_id: str, message: str, *, error_class: type[Exception] = ValueError
    ) -> AbstractContextManager[Any]:
        """Returns a context that expects the warning of a deprecated use."""
        del deprecation_id, error_class
        return self.assertWarnsRegex(DeprecationWarning, message)

    # ---- checks of functions ----

    def _CompileAndCheck(
        self,
        fun: Callable[..., Any],
        args_maker: Callable[[], Any],
        *,
        check_dtypes: bool = True,
        tol: Any = None,
        rtol: Any = None,
        atol: Any = None,
        check_cache_misses: bool = True,
    ) -> None:
        """Compares a function with itself compiled, on two sets of arguments.

        The compiled function is traced once. The second evaluation compiles no operation.
        """
        options = {"check_dtypes": check_dtypes, "atol": atol or tol, "rtol": rtol or tol}
        traces = 0

        def counted(*args: Any) -> Any:
            nonlocal traces
            traces += 1
            return fun(*args)

        args = args_maker()
        expected = fun(*args)
        shapes = pytrees.tree_map(np.shape, expected)
        self.assertEqual(shapes, pytrees.tree_map(lambda x: np.shape(np.asarray(x)), expected))
        with counters.count_primitive_compiles() as compiles:
            expected = fun(*args)
        if check_cache_misses and TEST_NUM_THREADS.value <= 1:
            self.assertEqual(0, compiles(), f"The second call of {fun} compiled an operation")
        compiled = olympus.jit(counted)
        for _ in range(2):
            self.assertAllClose(compiled(*args), expected, **options)
        args = args_maker()
        self.assertAllClose(compiled(*args), fun(*args), **options)
        self.assertEqual(1, traces, f"{fun} was traced again for arguments of the same types")

    def _CheckAgainstNumpy(
        self,
        numpy_reference_op: Callable[..., Any],
        lax_op: Callable[..., Any],
        args_maker: Callable[[], Any],
        check_dtypes: bool = True,
        tol: Any = None,
        atol: Any = None,
        rtol: Any = None,
        canonicalize_dtypes: bool = True,
    ) -> None:
        """Compares a function with a reference in NumPy."""
        args = args_maker()
        self.assertAllClose(
            lax_op(*args),
            numpy_reference_op(*args),
            check_dtypes=check_dtypes,
            atol=atol or tol,
            rtol=rtol or tol,
            canonicalize_dtypes=canonicalize_dtypes,
        )

    def assertCacheMisses(
        self,
        func: Callable[[], Any],
        *,
        cpp: int | None = None,
        aot_call: int | None = None,
        tracing: int | None = None,
        lowering: int | None = None,
        compilation_after_persistent_cache_miss: int | None = None,
    ) -> None:
        """Calls a function, and compares the numbers of events; see `counters`."""
        expected = [
            (cpp, counters.count_pjit_cpp_cache_miss),
            (aot_call, counters.count_aot_jit_cpp_cache_miss),
            (tracing, counters.count_jit_tracing_cache_miss),
            (lowering, counters.count_jit_and_pmap_lowerings),
            (
                compilation_after_persistent_cache_miss,
                counters.count_compilation_after_persistent_cache_miss,
            ),
        ]
        with contextlib.ExitStack() as stack:
            counts = [(number, stack.enter_context(counter())) for number, counter in expected]
            func()
        for number, count in counts:
            if number is not None:
                self.assertEqual(number, count())


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") or np.isscalar(value)


def _is_sequence(value: Any) -> bool:
    try:
        iter(value)
    except TypeError:
        return False
    return True


class BufferDonationTestCase(JaxTestCase):
    """Test case with assertions that arrays are deleted."""

    def assertDeleted(self, x: Any) -> None:
        self.assertTrue(x.is_deleted())

    def assertNotDeleted(self, x: Any) -> None:
        self.assertFalse(x.is_deleted())


def _with(attribute: str, values: dict[str, Any]) -> Callable[[type], type]:
    """Returns a decorator of test cases that adds flags to those of their base classes."""

    def decorate(cls: type) -> type:
        if not (isinstance(cls, type) and issubclass(cls, JaxTestCase)):
            raise TypeError(f"flags are for subclasses of JaxTestCase, got {cls!r}")
        inherited = [getattr(base, attribute, {}) for base in cls.__bases__]
        merged = {name: value for flags in inherited for name, value in flags.items()}
        setattr(cls, attribute, {**merged, **values})
        return cls

    return decorate


def with_config(**kwds: Any) -> Callable[[type], type]:
    """Returns a decorator of test cases whose tests run with flags set in their thread."""
    return _with("_default_thread_local_config", kwds)


def with_global_config(**kwds: Any) -> Callable[[type], type]:
    """Returns a decorator of test cases whose tests run with flags set for the process."""
    return _with("_default_global_config", kwds)


def _not_compiled(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the function, in place of `jit`."""
    del args, kwargs
    return fun


#: `jit`, and a function in its place that does nothing.
JIT_IMPLEMENTATION = (olympus.jit, _not_compiled)
