# SPDX-License-Identifier: Apache-2.0
"""Comparison of XLA with the NumPy reference on the sample of each primitive."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from olympus_ir.lax import linalg
from olympus_ir.reference import reference_evaluator
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval
from olympus_testing import assert_close, cases
from olympus_xla import jit
from olympus_xla._jaxlib import deserialize_executable, serialize_executable
from olympus_xla.calls import eager
from olympus_xla.compiling.cache_key import executable_key
from olympus_xla.compiling.compile_options import compile_options


def held_addresses(contents):
    """Returns the numbers in bytes that are addresses of this process's memory, at any offset."""
    try:
        with open("/proc/self/maps") as file:
            ranges = [line.split()[0].split("-") for line in file]
    except OSError:  # other systems do not list them
        return []
    lows, highs = (np.array([int(pair[end], 16) for pair in ranges], np.uint64) for end in (0, 1))
    found = []
    for offset in range(8):
        whole = (len(contents) - offset) // 8 * 8
        numbers = np.frombuffer(contents[offset : offset + whole], np.uint64)
        place = np.searchsorted(lows, numbers, side="right").astype(int) - 1
        inside = (place >= 0) & (numbers < highs[place]) & (numbers > 1 << 32)
        found += numbers[inside].tolist()
    return found


def test_addresses_are_found():
    array = np.zeros(4)
    address = array.ctypes.data.to_bytes(8, "little")
    if sys.platform == "linux":
        assert held_addresses(b"abc" + address + b"defgh") == [array.ctypes.data]
    assert held_addresses(bytes(range(256)) * 8) == []


def listed(results):
    return list(results) if isinstance(results, list | tuple) else [results]


def one_of_each_primitive(chosen):
    """Returns cases as parameters, of which all but one of each primitive are thorough."""
    seen = set()
    parameters = []
    for case in chosen:
        marks = [pytest.mark.thorough] if case.primitive in seen else []
        seen.add(case.primitive)
        parameters.append(pytest.param(case, marks=marks))
    return parameters


@pytest.mark.parametrize("case", cases(), ids=str)
def test_xla_agrees_with_the_reference(case):
    with case.context():
        params = dict(case.params)
        expected = listed(reference_evaluator.evaluate(case.primitive, case.args, params))
        actual = listed(eager.evaluate(case.primitive, case.args, params))
        if case.canonical is not None:
            actual, expected = (
                case.canonical([np.asarray(each) for each in found]) for found in (actual, expected)
            )
        assert [get_aval(each) for each in actual] == [get_aval(each) for each in expected]
        assert_close(actual, expected)


def has_no_routine(case, platform):
    """Whether a platform lacks what a decomposition needs."""
    if case.primitive is linalg.schur_p:
        return True
    pivoted = case.primitive is linalg.qr_p and case.params["pivoting"]
    perturbed = case.primitive is linalg.tridiagonal_solve_p and case.params["perturb_singular"]
    missing = case.primitive in (linalg.eig_p, linalg.geqp3_p)
    return platform == "tpu" and (pivoted or perturbed or missing)


# test_platforms.py lowers every case for all platforms at once
@pytest.mark.parametrize("case", one_of_each_primitive(cases()), ids=str)
@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_lowers_for_platforms_that_are_absent(case, platform):
    if platform == "tpu" and case.primitive.family == "callbacks":
        with case.context(), pytest.raises(NotImplementedError, match="cannot be lowered for tpu"):
            jit(case.run).lower(*case.args, lowering_platforms=(platform,))
        return
    if has_no_routine(case, platform):
        with case.context(), pytest.raises(NotImplementedError, match="(?i)lowered|supported"):
            jit(case.run).lower(*case.args, lowering_platforms=(platform,))
        return
    with case.context():
        lowered = jit(case.run).lower(*case.args, lowering_platforms=(platform,))
        assert lowered.compiler_ir().operation.verify()


def largest_of_each_dtype():
    """Returns one case for each primitive and the dtypes of its operands."""
    largest = {}
    for case in cases():
        with case.context():
            leaves = [np.asarray(leaf) for leaf in pytrees.tree_leaves(case.args)]
        key = case.primitive, *(leaf.dtype for leaf in leaves)
        size = sum(leaf.size for leaf in leaves)
        if key not in largest or size > largest[key][0]:
            largest[key] = size, case
    return [case for _, case in largest.values()]


@pytest.mark.parametrize("case", one_of_each_primitive(largest_of_each_dtype()), ids=str)
def test_executables_survive_being_files(case):
    # What the persistent compilation cache relies on.
    with case.context():
        lowered = jit(case.run).lower(*case.args)
        compiled = lowered.compile()
        executable = compiled._executable.compiled.executable
        (device,) = executable.loaded.local_devices()
        options = compile_options([device.id])
        key = executable_key(lowered.compiler_ir(), [device], options)
        if executable.calls_python:
            # The file would not have the Python function, and calling it would end the process.
            assert key is None
            return
        assert key is not None
        leaves = pytrees.tree_leaves(case.args)
        expected = compiled._executable.compiled.call(leaves)
        serialized = serialize_executable(executable.loaded)
        if serialized is None:
            assert case.primitive.name in (
                "sort",
                "top_k",
                "approx_top_k",
                "order_statistics",
            )  # their comparisons cannot be written
            return
        assert not held_addresses(serialized)
        executable.loaded = deserialize_executable(serialized, [device], options)
        actual = compiled._executable.compiled.call(leaves)
        for one, other in zip(expected, actual, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
