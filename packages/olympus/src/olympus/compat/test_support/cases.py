# SPDX-License-Identifier: Apache-2.0
"""Parameterized tests: decorators that run a test for some of the products of its parameters."""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .case_flags import MOST_RETRIES, NUM_GENERATED_CASES

__all__ = [
    "cases_from_gens",
    "named_cases_from_sampler",
    "parameterized",
    "parameterized_filterable",
    "sample_product",
    "sample_product_testcases",
    "sanitize_test_name",
]

Case = dict[str, Any]


def parameterized() -> Any:
    """Returns absl's module of parameterized tests.

    Raises:
      ImportError: absl is not installed.
    """
    try:
        return importlib.import_module("absl.testing.parameterized")
    except ImportError as error:
        raise ImportError(
            "Parameterized tests need the library absl: `pip install absl-py`", name="absl"
        ) from error


_UNACCEPTED = re.compile(r"[ \"'\[\](){}<>=,._]+")


def sanitize_test_name(s: str) -> str:
    """Returns a name without the characters that filters of tests do not accept.

    Example:
      >>> sanitize_test_name("shape=(2, 3)")
      'shape_2_3_'
    """
    return _UNACCEPTED.sub("_", s)


@functools.cache
def _chosen(count: int, num_chosen: int) -> np.ndarray:
    """Returns a sample of the integers below ``count``, the same in each call."""
    return np.random.RandomState(42).choice(count, size=num_chosen, replace=False)


def sample_product_testcases(*args: Iterable[Case], **kw: Iterable[Any]) -> list[Case]:
    """Returns cases that are sampled from a product of parameters.

    Args:
      *args: lists of dictionaries of parameters that vary together.
      **kw: lists of values of single parameters.

    Example:
      >>> len(sample_product_testcases(x=[1, 2], y=[3, 4, 5]))
      6
    """
    factors = [list(cases) for cases in args]
    factors += [[{name: value} for value in values] for name, values in kw.items()]
    sizes = [len(factor) for factor in factors]
    count = math.prod(sizes)
    cases = []
    for number in _chosen(count, min(count, NUM_GENERATED_CASES.value)):
        # The first parameters vary fastest.
        positions = np.unravel_index(number, sizes, order="F")
        case: Case = {}
        for factor, position in zip(factors, positions, strict=True):
            case |= factor[position]
        cases.append(case)
    return cases


def sample_product(*args: Iterable[Case], **kw: Iterable[Any]) -> Any:
    """Returns a decorator that runs a test for cases of `sample_product_testcases`."""
    return parameterized().parameters(*sample_product_testcases(*args, **kw))


def cases_from_gens(*gens: Callable[[int], Any]) -> Iterator[tuple]:
    """Yields cases of the sizes 1, 3 and 10, made by functions of a size; a name comes first."""
    sizes = (1, 3, 10)
    for size in sizes:
        for number in range(NUM_GENERATED_CASES.value // len(sizes) + 1):
            yield (f"_{size}_{number}", *(make(size) for make in gens))


def named_cases_from_sampler(gen: Callable[..., Iterable[Case]]) -> Iterator[Case]:
    """Yields cases with different names.

    Args:
      gen: a function that yields the cases of products of parameters. It passes the values of each
        parameter to its argument, which chooses one of them.

    Raises:
      RuntimeError: ``gen`` yields several cases although one value was chosen of each parameter.
    """
    generator = np.random.RandomState(42)

    def choose(values: Iterable[Any]) -> list[Any]:
        values = list(values)
        return [values[generator.randint(len(values))]]

    seen: set[str] = set()
    misses = 0
    while len(seen) < NUM_GENERATED_CASES.value and misses < MOST_RETRIES.value:
        cases = list(gen(choose))
        if len(cases) > 1:
            raise RuntimeError("a sampler of cases must yield one case for chosen parameters")
        if not cases or cases[0]["testcase_name"] in seen:
            misses += 1
            continue
        misses = 0
        seen.add(cases[0]["testcase_name"])
        yield cases[0]


def parameterized_filterable(
    *,
    kwargs: Sequence[Case],
    testcase_name: Callable[[Case], Any] | None = None,
    one_containing: str | None = None,
) -> Any:
    """Returns a decorator that runs a test for each case, with names that filters accept.

    Args:
      kwargs: the cases.
      testcase_name: a function from a case to its name. By default, a case is named by its entry
        ``testcase_name``, or else by its parameters.
      one_containing: if given, only the first case whose name has this text runs, and the test
        keeps its name.

    Raises:
      ValueError: no name contains ``one_containing``.
    """

    def name_of(case: Case) -> str:
        if testcase_name is not None:
            return str(testcase_name(case))
        return case.get("testcase_name") or "_".join(f"{k}={case[k]}" for k in sorted(case))

    cases = [{**case, "testcase_name": sanitize_test_name(name_of(case))} for case in kwargs]
    named_parameters = parameterized().named_parameters
    if one_containing is None:
        return named_parameters(*cases)
    for case in cases:
        if one_containing in case["testcase_name"]:
            return named_parameters([{**case, "testcase_name": ""}])
    names = ", ".join(case["testcase_name"] for case in cases)
    raise ValueError(f"no testcase_name contains {one_containing!r}; the names are {names}")
