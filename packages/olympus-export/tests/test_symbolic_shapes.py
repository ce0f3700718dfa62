# SPDX-License-Identifier: Apache-2.0
"""Export with symbolic shapes: lowering, calls with shapes that fit, and files."""

import numpy as np
import pytest

from olympus_autodiff import grad, vjp
from olympus_export import deserialize, export
from olympus_ir import lax
from olympus_ir.programs.make import eval_shape, make_olympuspr
from olympus_ir.symbolic import max_dim, symbolic_args_specs, symbolic_shape
from olympus_ir.symbolic.solving import UnexpectedDimVar
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_xla import jit

F32 = np.float32
RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(F32)


def exported(fun, specs, *shapes, constraints=(), platforms=None):
    args = [ShapeDtypeStruct(shape, F32) for shape in shapes]
    symbolic = symbolic_args_specs(tuple(args), specs, constraints)
    return export(jit(fun), platforms=platforms)(*symbolic)


def slices(x):
    return [x[0] for x in ([lax.slice_in_dim(x, 1, None)],)] + [
        lax.slice_in_dim(x, 0, x.shape[0] // 2),
        lax.rev(x, (0,)),
    ]


def dynamic(x):
    half = x.shape[0] // 2
    return lax.dynamic_slice_in_dim(x, np.int32(1), half)


def padded(x):
    return lax.pad(x, F32(0), ((x.shape[1], 1, 0), (0, x.shape[0] - 1, 1)))


def scanned(x):
    return lax.scan(
        lambda carry, row: (lax.add(carry, lax.reduce_sum(row, (0,))), carry), F32(0), x
    )


def arithmetic(x):
    a, b = x.shape
    sizes = (a // 3, a % 3, (-a) // 3, (-a) % 3, a * b - 7, max_dim(a, b), 2 * a**2)
    return lax.sizes_array(sizes, np.int32)


def convolved(x):
    kernel = np.ones((1, 1, 3), F32)
    return lax.conv_general_dilated(lax.expand_dims(x, (1,)), kernel, (2,), "SAME")


def windows(x):
    return lax.reduce_window(x, F32(0), lax.add, (x.shape[0], 1), (1, 1), "VALID")


PROGRAMS = {
    "elementwise": (lambda x: lax.mul(lax.sin(x), F32(2)), "a, b", (4, 3)),
    "reductions": (lambda x: (lax.reduce_sum(x, (0,)), lax.reduce_max(x, (1,))), "a, b", (4, 3)),
    "reshape": (lambda x: lax.reshape(x, (x.shape[1] * x.shape[0],)), "a, b", (4, 3)),
    "broadcast": (lambda x: lax.broadcast_in_dim(x, (2, *x.shape), (1, 2)), "a, b", (4, 3)),
    "iota": (lambda x: lax.iota(np.int32, x.shape[0] + 1), "a, b", (4, 3)),
    "slices": (slices, "a, b", (5, 3)),
    "dynamic": (dynamic, "a, b", (6, 3)),
    "padded": (padded, "a, b", (4, 3)),
    "concatenated": (lambda x: lax.concatenate([x, x], 0), "a, b", (4, 3)),
    "transposed": (lambda x: lax.transpose(x, (1, 0)), "a, b", (4, 3)),
    "products": (lambda x: lax.dot(x, lax.transpose(x, (1, 0))), "a, b", (4, 3)),
    "cumulative": (lambda x: lax.cumsum(x, 0), "a, b", (4, 3)),
    "sorted": (lambda x: lax.sort(x, dimension=0), "a, b", (4, 3)),
    "largest": (lambda x: lax.top_k(x, 2), "a, 3", (4, 3)),
    "scanned": (scanned, "a, b", (4, 3)),
    "arithmetic": (arithmetic, "a, b", (5, 4)),
    "convolved": (convolved, "a, w", (2, 9)),
    "windows": (windows, "a, b", (4, 3)),
    "called": (
        lambda x: jit(lambda y: lax.mul(y, lax.size_array(y.shape[0], F32)))(x),
        "a, b",
        (4, 3),
    ),
    "gradient": (
        grad(lambda x: lax.reduce_sum(lax.mul(lax.slice_in_dim(x, 1, None), F32(3)), (0, 1))),
        "a, b",
        (4, 3),
    ),
    "gradient of a scan": (grad(lambda x: scanned(x)[0]), "a, b", (4, 3)),
    "eigenvalues": (lambda x: lax.linalg.cholesky(x), "a, 2, 2", (3, 2, 2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_symbolic_programs_equal_those_of_known_shapes(name):
    fun, spec, shape = PROGRAMS[name]
    x = numbers(*shape)
    if name == "eigenvalues":
        x = x @ x.transpose(0, 2, 1) + 4 * np.eye(2, dtype=F32)
    made = exported(fun, spec, shape)
    found, expected = made.call(x), jit(fun)(x)
    if not isinstance(expected, list | tuple):
        found, expected = [found], [expected]
    for left, right in zip(found, expected, strict=True):
        assert left.shape == right.shape
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (7, 3)])
def test_one_program_for_all_shapes(shape):
    made = exported(lambda x: lax.mul(x, lax.size_array(x.shape[0], F32)), "a, b", (2, 2))
    x = numbers(*shape)
    np.testing.assert_allclose(made.call(x), x * shape[0], rtol=1e-6)


def test_types_show_symbolic_sizes():
    made = exported(lambda x, y: lax.concatenate([x, y], 0), ("2*a, b", "c, b"), (2, 2), (2, 2))
    assert str(made.out_avals[0]) == "float32[c + 2*a,b]"
    assert made.is_symbolic
    text = made.mlir_module()
    assert "tensor<?x?xf32>" in text
    assert "jax.uses_shape_polymorphism = true" in text
    assert "stablehlo.get_dimension_size" in text


# ---- what does not fit ----


def test_mismatched_shapes_raise():
    made = exported(lambda x, y: lax.add(x, y), ("2*a, b", "2*a, b"), (2, 2), (2, 2))
    for shapes, message in (
        (((3, 2), (3, 2)), r"Division had remainder 1 when computing the value of 'a'"),
        (((2, 2), (4, 2)), r"args\[1\].shape\[0\] \(= 4\) and the specification '2\*a' \(= 2\)"),
        (((0, 2), (0, 2)), r"Expected value >= 1 for dimension variable 'a'"),
        (
            ((2,), (2, 2)),
            r"Rank mismatch for args\[0\]: expected \(2\*a, b\) and called with \(2,\)",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            made.call(*(numbers(*shape) for shape in shapes))
    with pytest.raises(ValueError, match="Dtype mismatch for args"):
        made.call(np.ones((2, 2), np.int32), numbers(2, 2))
    fixed = exported(lambda x: x, "a, 3", (2, 3))
    with pytest.raises(
        ValueError, match=r"shape\[1\] \(expected same constant\): expected \(a, 3\)"
    ):
        fixed.call(numbers(2, 4))


def test_constraints_are_checked():
    made = exported(
        lambda x: x, "a, b", (2, 2), constraints=["a >= 4", "mod(b, 2) == 0", "a <= 2*b"]
    )
    assert made.call(numbers(4, 2)).shape == (4, 2)
    for shape, message in (
        ((3, 2), r"constraint a >= 4. Expected 'a - 4' to be greater or equal to 0, but found -1"),
        ((4, 3), r"Expected '2\*floordiv\(b, 2\) - b' to be equal to 0, but found -1"),
        ((5, 2), r"constraint a <= 2\*b"),
    ):
        with pytest.raises(ValueError, match=message):
            made.call(numbers(*shape))


def test_underdetermined_variables_raise():
    with pytest.raises(
        ValueError, match=r"Cannot solve for values of dimension variables \{'a', 'b'"
    ):
        exported(lambda x: x, "a*b", (2,))
    (b,) = symbolic_shape("b")
    with pytest.raises(UnexpectedDimVar, match="variable 'b' that is not appearing in the shapes"):
        exported(lambda x: lax.full((b,), F32(0)), "a", (2,))


def test_variables_of_two_scopes_cannot_be_mixed():
    def pair(x, y):
        return x, y

    (a,), (b,) = symbolic_shape("a"), symbolic_shape("b")
    with pytest.raises(ValueError, match=r"Invalid mixing of symbolic scopes when exporting pair"):
        export(jit(pair))(ShapeDtypeStruct((a,), F32), ShapeDtypeStruct((b,), F32))


def test_compilation_with_symbolic_shapes_raises():
    (a,) = symbolic_shape("a")
    lowered = jit(lax.sin).lower(ShapeDtypeStruct((a,), F32))
    assert "tensor<?xf32>" in lowered.as_text()
    with pytest.raises(ValueError, match="was lowered for operands of symbolic shapes"):
        lowered.compile()


def test_symbolic_dimension_as_operand_raises():
    (a,) = symbolic_shape("a")
    with pytest.raises(Exception, match="used in a context that requires a constant"):
        lax.add(a, 1)


# ---- unused operands, platforms, effects ----


def test_unused_operands_determine_sizes():
    made = exported(lambda x, y: lax.full((y.shape[0],), F32(1)), ("a", "b"), (2,), (3,))
    assert made.call(numbers(5), numbers(3)).shape == (3,)


def test_symbolic_programs_run_on_several_platforms():
    made = exported(lax.sin, "a, b", (2, 2), platforms=("cpu", "cuda", "tpu"))
    assert made.call(numbers(2, 3)).shape == (2, 3)


# ---- calls with symbolic shapes ----


def test_calls_with_symbolic_shapes():
    inner = exported(lambda x: lax.concatenate([x, x], 0), "a, b", (2, 2))
    f, g = symbolic_shape("f, g")
    x = ShapeDtypeStruct((f + 1, g), F32)
    assert eval_shape(inner.call, x).shape == (2 * f + 2, g)
    assert "call_exported" in str(make_olympuspr(inner.call)(x))
    outer = export(jit(lambda x: lax.sin(inner.call(x))))(x)
    value = numbers(3, 2)
    np.testing.assert_allclose(outer.call(value), np.sin(np.concatenate([value, value])), rtol=1e-5)
    square = exported(lambda x: x, "a, a", (2, 2))
    with pytest.raises(ValueError, match=r"\(= g\) and the specification 'a' \(= f \+ 1\)"):
        eval_shape(square.call, x)


def test_in_the_middle_of_a_program():
    inner = exported(lambda x: lax.reduce_sum(x, (0,)), "a, b", (2, 2))
    x = numbers(4, 3)
    np.testing.assert_allclose(
        jit(lambda x: lax.mul(inner.call(lax.sin(x)), F32(2)))(x), 2 * np.sin(x).sum(0), rtol=1e-5
    )


# ---- derivatives and files ----


def test_derivatives_have_symbolic_types():
    made = exported(lambda x: lax.sin(x), "a, b", (2, 2))
    assert [str(aval) for aval in made.vjp().in_avals] == ["float32[a,b]", "float32[a,b]"]
    x = numbers(3, 2)
    _, pull_back = vjp(made.call, x)
    np.testing.assert_allclose(pull_back(x)[0], x * np.cos(x), rtol=1e-5)


def test_symbolic_types_survive_serialization():
    made = exported(lambda x: lax.sin(x), "a, 2*b", (2, 2), constraints=["a >= 2", "b <= a"])
    again = deserialize(made.serialize(vjp_order=1))
    assert list(map(str, again.in_avals)) == ["float32[a,2*b]"]
    assert again.in_avals[0].shape[0] >= 2
    assert again.in_avals[0].shape[0].scope is again.out_avals[0].shape[1].scope
    x = numbers(3, 4)
    np.testing.assert_allclose(again.call(x), np.sin(x), rtol=1e-6)
    with pytest.raises(ValueError, match="constraint a >= 2"):
        again.call(numbers(1, 2))
    np.testing.assert_allclose(
        grad(lambda x: lax.reduce_sum(again.call(x), (0, 1)))(x), np.cos(x), rtol=1e-5
    )


def test_programs_without_symbolic_shapes_are_unchanged():
    made = export(jit(lax.sin))(ShapeDtypeStruct((3,), F32))
    assert not made.is_symbolic
    assert "jax.uses_shape_polymorphism = false" in made.mlir_module()
    assert made.out_avals == (ShapedArray((3,), F32),)


# ---- exported functions inside of others ----


def test_concrete_functions_call_symbolic_ones():
    inner = exported(lambda x: lax.reshape(x, (x.shape[0] * x.shape[1],)), ["a, a + b"], (4, 12))
    x = numbers(4, 12)
    outer = export(jit(lambda x: inner.call(lax.sin(x))))(x)
    assert outer.uses_global_constants
    np.testing.assert_allclose(outer.call(x), np.sin(x).reshape(-1), rtol=1e-6)
    again = export(jit(lambda x: outer.call(x)))(x)
    np.testing.assert_allclose(deserialize(again.serialize()).call(x), np.sin(x).ravel(), rtol=1e-6)


def test_possibly_mismatched_shapes_raise_in_calls():
    inner = exported(lambda x: x, ["3, a, a + b"], (3, 4, 12))
    with pytest.raises(ValueError, match=r"'b' = c - 4 from specification 'b \+ a'"):
        exported(lambda x: inner.call(x), ["3, 4, c"], (3, 4, 12))


def test_scopes_are_compared_before_anything_is_traced():
    (a,), (b,) = symbolic_shape("a"), symbolic_shape("b")
    specs = [ShapeDtypeStruct((size,), F32) for size in (a, b)]

    def never(x, y):
        raise AssertionError

    with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes when exporting never"):
        export(jit(never))(*specs)
