# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import (
    ConcretizationTypeError,
    LeakedTracerError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from olympus_ir.lax import linalg
from olympus_ir.settings import config

X3 = np.ones(3, np.float32)
X4 = np.ones(4, np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4)


def add(x, y):
    return lax.add(x, y)


# ---- axes ----


def test_axes_of_arguments_and_results():
    np.testing.assert_array_equal(vmap(lax.neg)(M), -M)
    np.testing.assert_array_equal(vmap(lax.neg, in_axes=1)(M), -M.T)
    np.testing.assert_array_equal(vmap(lax.neg, in_axes=1, out_axes=1)(M), -M)
    np.testing.assert_array_equal(vmap(lax.neg, in_axes=-1, out_axes=-1)(M), -M)
    np.testing.assert_array_equal(vmap(add, in_axes=(0, None))(M, X4), M + 1)
    np.testing.assert_array_equal(vmap(add, in_axes=[None, 0])(X4, M), M + 1)


def test_trees_of_axes():
    def fun(d, pair):
        return {"sum": lax.add(d["a"], pair[0]), "b": d["b"]}

    out = vmap(fun, in_axes=({"a": 0, "b": None}, 0), out_axes={"sum": 1, "b": None})(
        {"a": M, "b": 5.0}, (M, M)
    )
    np.testing.assert_array_equal(out["sum"], 2 * M.T)
    assert out["b"] == 5.0


def test_prefixes_of_trees():
    class Pair(NamedTuple):
        first: object
        second: object

    out = vmap(lambda p: Pair(p.first, [p.second]), in_axes=(Pair(0, None),), out_axes=Pair(0, 1))(
        Pair(M, X4)
    )
    assert np.shape(out.first) == (3, 4)
    assert np.shape(out.second[0]) == (4, 3)


def test_keyword_arguments_are_mapped_over_axis_0():
    np.testing.assert_array_equal(vmap(lambda x, y: lax.add(x, y), in_axes=1)(M.T, y=M), 2 * M)


def test_unbatched_results_are_broadcast_to_out_axes():
    assert vmap(lambda x: 1.0, out_axes=None)(X3) == 1.0
    assert vmap(lambda x: X4)(X3).shape == (3, 4)
    assert vmap(lambda x: X4, out_axes=-1)(X3).shape == (4, 3)
    assert vmap(lambda x: None)(X3) is None


def test_axis_size_replaces_batched_arguments():
    assert vmap(lambda: np.float32(1), axis_size=5)().shape == (5,)
    assert vmap(add, in_axes=None, axis_size=2)(X3, X3).shape == (2, 3)
    assert vmap(lax.neg)(np.zeros((0, 2), np.float32)).shape == (0, 2)


def test_sum_match_adds_the_examples():
    total, each = vmap(lambda x: (x, x), out_axes=(None, 0), sum_match=True)(X3)
    assert total == 3
    assert each.shape == (3,)


def test_nested_maps_have_one_dimension_each():
    outer = vmap(vmap(lax.mul, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_array_equal(outer(X3 * 2, X4 * 3), np.full((3, 4), 6))
    both = vmap(lambda x: vmap(lambda y: lax.add(x, y))(X4))
    np.testing.assert_array_equal(both(M[:, 0]), M[:, :1] + X4)


def test_the_mapped_function_keeps_its_name():
    def documented(x):
        """Does nothing."""
        return x

    mapped = vmap(documented)
    assert mapped.__name__ == "documented"
    assert mapped.__wrapped__ is documented
    assert "Vectorized version of documented" in mapped.__doc__
    assert "Does nothing." in mapped.__doc__
    assert vmap(functools.partial(add, X3))(M.T[:, :3]).shape == (4, 3)


# ---- tracers ----


def test_attributes_and_text_of_a_batch_tracer():
    seen = []
    vmap(lambda x, i: seen.append((repr(x), x.shape, x.batch_dim)), in_axes=(1, 0))(M, X4)
    assert seen == [("VmapTracer(aval=float32[3], batched=float32[3,4])", (3,), 1)]


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda x: 1 if lax.gt(x, np.float32(0)) else 2, TracerBoolConversionError),
        (float, ConcretizationTypeError),
        (np.asarray, TracerArrayConversionError),
        (lambda x: [1, 2][lax.convert_element_type(x, np.int32)], TracerIntegerConversionError),
    ],
)
def test_values_of_batch_tracers_are_unknown(use, error):
    def mapped_function(x):
        return use(x)

    with pytest.raises(error, match=r"one example in `vmap` of mapped_function at .*3 examples"):
        vmap(mapped_function)(X3)


def test_leaked_tracers_raise():
    kept = []
    vmap(kept.append)(X3)
    with pytest.raises(UnexpectedTracerError, match=r"intermediate value with type float32\[\]"):
        lax.neg(kept[0])


# ---- errors ----


def test_inconsistent_sizes_raise():
    with pytest.raises(ValueError) as info:
        vmap(add)(X3, X4)
    assert str(info.value) == (
        "vmap got inconsistent sizes for array axes to be mapped:\n"
        "  * one axis had size 3: axis 0 of argument x of type float32[3];\n"
        "  * one axis had size 4: axis 0 of argument y of type float32[4]"
    )
    with pytest.raises(ValueError) as info:
        vmap(lambda d, z, w: z, axis_size=7)({"a": X3, "b": X3}, X4, X4.astype(np.int32))
    assert str(info.value) == (
        "vmap got inconsistent sizes for array axes to be mapped:\n"
        "  * the `axis_size` argument was 7;\n"
        "  * most axes (2 of them) had size 3, e.g. axis 0 of argument d['a'] of type float32[3];\n"
        "  * some axes (2 of them) had size 4, e.g. axis 0 of argument z of type float32[4]"
    )


def test_out_of_range_axes_raise():
    with pytest.raises(
        ValueError, match=r"axis 0.* at least 1, but is only 0 \(its shape is \(\)\)"
    ) as info:
        vmap(add)(1.0, X3)
    assert "the argument x" in str(info.value)
    with pytest.raises(
        ValueError, match=r"axis -2.* at least 2, but is only 1 .*argument d\['a'\]"
    ):
        vmap(lambda d: d, in_axes=-2)({"a": X3})
    with pytest.raises(
        np.exceptions.AxisError, match="axis 1 is out of bounds for array of dimension 1"
    ):
        vmap(lambda x: x, out_axes=1)(X3)


def test_vmap_without_mapped_arguments_raises():
    with pytest.raises(ValueError, match="at least one non-None value in in_axes"):
        vmap(add, in_axes=None)(X3, X3)
    with pytest.raises(ValueError, match="must be passed at least one argument"):
        vmap(lambda: 1)()


@pytest.mark.parametrize("in_axes", ["a", True, np.int32(0), 0.5])
def test_in_axes_of_wrong_type_raise(in_axes):
    with pytest.raises(TypeError, match="vmap in_axes must be an int, None, or a tuple"):
        vmap(add, in_axes=in_axes)


def test_leaves_of_axes_of_wrong_type_raise():
    with pytest.raises(TypeError, match=r"in_axes must be an int, None, or \(nested\) container"):
        vmap(add, in_axes=(0, "a"))
    with pytest.raises(TypeError, match=r"out_axes must be an int, None, or \(nested\) container"):
        vmap(add, out_axes="a")


def test_axes_of_wrong_structure_raise():
    with pytest.raises(ValueError, match=r"got len\(in_axes\)=3, len\(args\)=2"):
        vmap(add, in_axes=(0, 0, 0))(X3, X3)
    with pytest.raises(ValueError, match=r"vmap in_axes specification must be a tree prefix"):
        vmap(lambda d: d, in_axes=({"a": 0, "c": 0},))({"a": X3})
    with pytest.raises(ValueError, match=r"vmap out_axes specification must be a tree prefix"):
        vmap(lambda x: (x, x), out_axes=(0, 0, 0))(X3)


def test_batched_results_with_out_axes_none_raise():
    with pytest.raises(ValueError, match=r"at vmap out_axes\[1\]\['b'\]\[0\], got axis spec None"):
        vmap(lambda x: (x, {"b": [x, 1.0]}), out_axes=(0, None))(X3)


def test_non_array_values_raise():
    with pytest.raises(TypeError, match="Argument 'abc' of type <class 'str'>"):
        vmap(lambda x: x)("abc")
    with pytest.raises(TypeError, match="Output from batched function 'abc'"):
        vmap(lambda x: "abc")(X3)
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        vmap(3)


def test_unmapped_arguments_may_be_any_object():
    rows = np.ones((2, 3), np.float32)
    result = vmap(lambda x, f: f(x), in_axes=(0, None))(rows, lambda x: lax.reduce_sum(x, (0,)))
    np.testing.assert_array_equal(result, [3, 3])
    with pytest.raises(TypeError, match="is not a valid OLYMPUS type"):
        vmap(lambda x, f: x)(rows, len)
    with pytest.raises(TypeError, match="Argument <class 'numpy.ndarray'> of type"):
        vmap(lambda x: x)(np.ndarray)


@pytest.mark.parametrize("out", [(lax.add, M, X4), (lax.max, X4, M)])
@pytest.mark.parametrize("batched", [(0, 0), (0, None), (None, 0), (-1, -1)])
def test_examples_of_different_ranks_raise(out, batched):
    fun, *operands = out
    operands = [x if axis is None else np.stack([x, x], axis) for x, axis in zip(operands, batched)]
    with pytest.raises(ShapeError, match="must have the same number of dimensions"):
        vmap(fun, in_axes=batched)(*operands)


def test_approximate_extremes_look_at_one_example():
    with pytest.raises(TypeError, match="must have >= 1 dimension"):
        vmap(lambda x: lax.approx_max_k(x, 1))(X3)
    with pytest.raises(IndexError, match="reduction_dimension=1 is out of bounds"):
        vmap(lambda x: lax.approx_max_k(x, 1, reduction_dimension=1))(M)


def test_examples_with_too_few_dimensions():
    for operation, x in (
        (linalg.svd, M),
        (linalg.qr, M),
        (linalg.lu, M),
        (lambda x: lax.fft(x, "FFT", (3,)), X3),
    ):
        with pytest.raises((TypeError, ValueError), match="rank at least 2|at least as many input"):
            vmap(operation)(x)


# ---- messages ----


def test_errors_name_keyword_arguments():
    with pytest.raises(ValueError, match=r"axis 0 of kwargs\['y'\]\['w'\] of type float32\[4\]"):
        vmap(lambda x, y: x)(X3, y={"w": X4})


def test_error_of_empty_call_shows_arguments():
    with pytest.raises(ValueError, match=r"empty \*args=\(\{\},\) and \*\*kwargs=\{\}"):
        vmap(lambda x: x)({})


def test_a_mapped_output_names_the_axis():
    with pytest.raises(ValueError, match=r"mapped output \(axis_name=rows\) but out_axes is None"):
        vmap(lambda x: x, out_axes=None, axis_name="rows")(X3)


def test_leak_errors_name_the_holder():
    kept = {}

    def keep(x):
        kept["hi"] = [lambda: x]
        return x

    with config.checking_leaks():
        vmap(lambda x: lax.mul(x, x))(X3)
        with pytest.raises(
            LeakedTracerError, match=r"(?s)created on line:.*BatchTracer \d+> is ref"
        ) as e:
            vmap(keep)(X3)
    assert "closed-over variable x" in str(e.value) and "['hi']" in str(e.value)
