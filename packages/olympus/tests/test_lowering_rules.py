# SPDX-License-Identifier: Apache-2.0
"""Primitives of other libraries, lowered by rules in JAX's form."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from jaxlib.mlir.dialects import func as func_dialect
from jaxlib.mlir.dialects import stablehlo as hlo

import olympus
import olympus.numpy as jnp
from olympus.extend import core
from olympus.extend.core import Primitive
from olympus.interpreters import ad, batching, mlir, xla
from olympus.sharding import PartitionSpec
from olympus_ir.types.effects import Effect, lowerable_effects, ordered_effects


def same_type(x, **params):
    return x


def new_primitive(name: str, lowering, platform: str | None = None) -> Primitive:
    primitive = Primitive(name)
    primitive.def_abstract_eval(same_type)
    mlir.register_lowering(primitive, lowering, platform=platform)
    return primitive


def test_a_primitive_with_all_rules() -> None:
    multiply_add_p = Primitive("multiply_add")
    multiply_add_p.def_impl(partial(xla.apply_primitive, multiply_add_p))
    multiply_add_p.def_abstract_eval(lambda x, y, z: core.mapped_aval(0, None, x))
    mlir.register_lowering(
        multiply_add_p, lambda ctx, x, y, z: [hlo.AddOp(hlo.MulOp(x, y).result, z).result]
    )

    def jvp(primals, tangents):
        x, y, z = primals
        dx, dy, dz = map(ad.instantiate_zeros, tangents)
        tangent = multiply_add_p.bind(dx, y, multiply_add_p.bind(x, dy, dz))
        return multiply_add_p.bind(x, y, z), tangent

    def transpose(cotangent, x, y, z):
        if ad.is_undefined_primal(x):
            return multiply_add_p.bind(cotangent, y, jnp.zeros_like(y)), None, cotangent
        return None, multiply_add_p.bind(x, cotangent, jnp.zeros_like(x)), cotangent

    ad.primitive_jvps[multiply_add_p] = jvp
    ad.primitive_transposes[multiply_add_p] = transpose
    batching.primitive_batchers[multiply_add_p] = lambda args, dims: (
        multiply_add_p.bind(*map(batching.bdim_at_front, args, dims, (3, 3, 3))),
        0,
    )

    def f(x, y, z):
        return multiply_add_p.bind(x, y, z)

    assert f(2.0, 10.0, 1.0) == olympus.jit(f)(2.0, 10.0, 1.0) == 21
    value, tangent = olympus.jvp(f, (2.0, 10.0, 1.0), (1.0, 1.0, 1.0))
    assert (value, tangent) == (21, 13)
    assert olympus.grad(f, (0, 1, 2))(2.0, 10.0, 1.0) == (10, 2, 1)
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(olympus.jit(olympus.vmap(f, (0, None, 0)))(x, 2.0, x), 3 * x)


def test_functions_lowered_within_rules() -> None:
    def lower(ctx, x):
        sine = mlir.lower_fun(jnp.sin, multiple_results=False)
        (y,) = sine(ctx.replace(primitive=None, avals_out=ctx.avals_in), x)
        scalar = core.mapped_aval(4, 0, ctx.avals_in[0])
        return mlir.lower_fun(jnp.sum, multiple_results=False)(ctx.replace(avals_out=[scalar]), y)

    primitive = Primitive("sum_of_sines")
    primitive.def_abstract_eval(lambda x: core.mapped_aval(4, 0, x))
    mlir.register_lowering(primitive, lower)
    np.testing.assert_allclose(olympus.jit(primitive.bind)(jnp.ones(4)), 4 * np.sin(1.0), rtol=1e-6)


def test_functions_lowered_into_regions() -> None:
    def lower(ctx, x):
        zero = mlir.ir_constant(np.int32(0))
        loop = hlo.WhileOp([zero.type, x.type], [zero, x])
        condition = loop.cond.blocks.append(zero.type, x.type)
        with mlir.ir.InsertionPoint(condition):
            direction = hlo.ComparisonDirectionAttr.get("LT")
            bound = mlir.ir_constant(np.int32(3))
            hlo.return_([hlo.compare(condition.arguments[0], bound, direction)])
        body = loop.body.blocks.append(zero.type, x.type)
        with mlir.ir.InsertionPoint(body):
            counter, value = body.arguments
            step = mlir.lower_fun(lambda v: jnp.cos(v) * 2.0, multiple_results=False)
            (value,) = step(ctx, value)
            hlo.return_([hlo.add(counter, mlir.ir_constant(np.int32(1))), value])
        return [loop.results[1]]

    expected = np.ones(2)
    for _ in range(3):
        expected = np.cos(expected) * 2
    primitive = new_primitive("three_steps", lower)
    np.testing.assert_allclose(olympus.jit(primitive.bind)(jnp.ones(2)), expected, rtol=1e-5)


def test_rules_may_return_several_results() -> None:
    primitive = Primitive("multiples")
    primitive.multiple_results = True
    primitive.def_abstract_eval(lambda x, *, n: [core.unmapped_aval(n, 0, x), x])
    mlir.register_lowering(
        primitive, mlir.lower_fun(lambda x, *, n: [jnp.stack([x * i for i in range(n)]), x + 1])
    )
    stacked, following = olympus.jit(lambda x: primitive.bind(x, n=3))(jnp.ones(2))
    np.testing.assert_array_equal(stacked, [[0, 0], [1, 1], [2, 2]])
    np.testing.assert_array_equal(following, [2, 2])


def test_contents_of_the_lowering_context() -> None:
    seen = []

    def lower(ctx, x):
        seen.append(ctx)
        return [x]

    primitive = new_primitive("facts", lower)

    def f(x):
        with olympus.named_scope("layer"):
            return primitive.bind(x)

    x = jnp.arange(3.0)
    olympus.jit(f)(x)
    ctx, module = seen[0], seen[0].module_context
    assert str(ctx.name_stack) == "jit(f)/layer" and ctx.primitive is primitive
    assert list(map(str, ctx.avals_in)) == list(map(str, ctx.avals_out)) == ["float32[3]"]
    assert len(ctx.tokens_in) == 0 and not ctx.is_forward_compat()
    assert module.platforms == ("cpu",) and module.axis_context == mlir.ShardingContext(1)
    assert module.get_backend().platform == "cpu"
    assert module.replace(platforms=("tpu",)).platforms == ("tpu",)
    mesh = olympus.make_mesh((1,), ("i",))
    spec = PartitionSpec()
    olympus.jit(olympus.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))(x)
    inside = seen[1].module_context.axis_context
    assert isinstance(inside, (mlir.SPMDAxisContext, mlir.ShardingContext))


def test_calls_of_programs_and_functions() -> None:
    program = olympus.make_olympuspr(lambda y: (jnp.sin(y),))(np.ones(3, np.float32))

    def lower(ctx, x):
        module = ctx.module_context
        helper = mlir.lower_olympuspr_to_fun(
            module, "helper", program, [], num_const_args=0, in_avals=program.in_avals
        )
        symbol = mlir.ir.FlatSymbolRefAttr.get(helper.name.value)
        value = func_dialect.CallOp([x.type], symbol, [x]).results[0]
        (value,), tokens = mlir.olympuspr_subcomp(
            module,
            program.jaxpr,
            ctx.name_stack,
            mlir.TokenSet(),
            (),
            value,
            dim_var_values=(),
            const_lowering={},
            outer_traceback=None,
        )
        assert len(tokens) == 0
        shape = mlir.shape_tensor(module, (1, mlir.ir_constant(np.int32(3))))
        assert str(shape.type) == "tensor<2xi32>"
        return mlir.core_call_lowering(ctx, value, name="called", call_jaxpr=program)

    primitive = new_primitive("three_sines", lower)
    x = jnp.arange(3.0)
    expected = np.sin(np.sin(np.sin(x)))
    np.testing.assert_allclose(olympus.jit(primitive.bind)(x), expected, rtol=1e-5)


def test_rules_may_emit_python_callbacks() -> None:
    def emitting(callback):
        def lower(ctx, x):
            results, token, keepalive = mlir.emit_python_callback(
                ctx, callback, None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=False
            )
            assert token is None
            ctx.module_context.add_keepalive(keepalive)
            return results

        return lower

    tripled = new_primitive("tripled_on_host", emitting(lambda x: (x * 3,)), platform="cpu")
    np.testing.assert_array_equal(olympus.jit(tripled.bind)(jnp.arange(3.0)), [0, 3, 6])
    wrong = new_primitive("wrong_on_host", emitting(lambda x: (np.zeros(7, np.float32),)))
    with pytest.raises(RuntimeError, match=r"expected float32\[3\], got float32\[7\]"):
        olympus.jit(wrong.bind)(jnp.arange(3.0)).block_until_ready()


class Logging(Effect):
    def __str__(self) -> str:
        return "Logging"


LOGGING = Logging()
ordered_effects.add_type(Logging)
lowerable_effects.add_type(Logging)


def test_ordered_effects_by_tokens() -> None:
    log = []

    def lower(ctx, x, *, tag):
        def callback(value):
            log.append((tag, float(value)))
            return (value + 1,)

        results, token, _ = mlir.emit_python_callback(
            ctx,
            callback,
            ctx.tokens_in.get(LOGGING),
            [x],
            ctx.avals_in,
            ctx.avals_out,
            has_side_effect=True,
        )
        ctx.set_tokens_out(mlir.TokenSet({LOGGING: token}))
        return results

    primitive = Primitive("logged")
    primitive.def_effectful_abstract_eval(lambda x, *, tag: (x, {LOGGING}))
    mlir.register_lowering(primitive, lower)

    def f(x):
        first = primitive.bind(primitive.bind(x, tag="a"), tag="b")
        return first + primitive.bind(0.0, tag="c")

    assert olympus.jit(f)(1.0) == 4
    assert log == [("a", 1.0), ("b", 2.0), ("c", 0.0)]
    forgetful = Primitive("forgetful")
    forgetful.def_effectful_abstract_eval(lambda x: (x, {LOGGING}))
    mlir.register_lowering(forgetful, lambda ctx, x: [x])
    with pytest.raises(ValueError, match="set_tokens_out"):
        olympus.jit(forgetful.bind)(1.0)


def test_rules_for_platforms() -> None:
    primitive = new_primitive("by_platform", lambda ctx, x: [hlo.negate(x)], platform="cpu")
    seven = mlir.lower_fun(lambda x: x * 7, multiple_results=False)
    mlir.register_lowering(primitive, seven, platform="gpu")
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(olympus.jit(primitive.bind)(x), -x)
    text = olympus.jit(primitive.bind).trace(x).lower(lowering_platforms=("cpu", "cuda")).as_text()
    assert "stablehlo.negate" in text and "stablehlo.multiply" in text
    with pytest.raises(NotImplementedError, match="rule for primitive .* not found for platform"):
        olympus.jit(primitive.bind).trace(x).lower(lowering_platforms=("tpu",))


def module_of(program, **options):
    given = {
        "num_const_args": 0,
        "in_avals": program.in_avals,
        "ordered_effects": [],
        "platforms": ["cpu"],
        "backend": None,
        "axis_context": mlir.ShardingContext(1),
        "donated_args": [False] * len(program.in_avals),
        "lowering_parameters": mlir.LoweringParameters(),
    }
    result = mlir.lower_olympuspr_to_module("module", program, **{**given, **options})
    text = mlir.module_to_string(result.module)
    return next(line for line in text.splitlines() if "@main" in line), text


def test_modules_and_their_attributes() -> None:
    square = np.ones((2, 2), np.float32)
    program = olympus.make_olympuspr(lambda x, y: (jnp.sin(x) @ y, x.sum()))(square, square)
    line, text = module_of(program)
    assert text.startswith("module @module attributes") and "{tf." not in line
    assert (
        "%arg0: tensor<2x2xf32> {tf.aliasing_output = 0"
        in module_of(program, donated_args=[True, False])[0]
    )
    assert 'jax.result_info = "u"' in module_of(program, result_names=["u", "v"])[0]
    assert "is_same_data_across_replicas" in module_of(program, replicated_args=[True, False])[0]
    assert (
        'jax.global_constant = "_platform_index"'
        in module_of(program, platforms=["cpu", "cuda"])[0]
    )
    mesh = olympus.make_mesh((1,), ("i",))
    sharding = olympus.NamedSharding(mesh, PartitionSpec("i"))
    line, text = module_of(program, arg_shardings=[sharding, None])
    assert 'sdy.sharding<@mesh, [{"i"}, {}]>' in line and "sdy.mesh @mesh" in text
    other = mlir.LoweringParameters(
        override_lowering_rules=(
            (olympus.lax.sin_p, mlir.lower_fun(lambda x, **_: x + 5.0, multiple_results=False)),
        )
    )
    assert "stablehlo.sine" in text
    assert "stablehlo.sine" not in module_of(program, lowering_parameters=other)[1]


def test_modules_are_merged() -> None:
    def module(fun):
        return olympus.jit(fun).lower(jnp.ones(3)).compiler_ir()

    whole = module(lambda x: olympus.jit(lambda y: jnp.sin(y) * 2)(x))
    part = module(lambda x: olympus.jit(lambda y: jnp.cos(y) * 2)(x))
    with whole.context, mlir.ir.Location.unknown():
        assert mlir.merge_mlir_modules(whole, "main", part) == "main_0"
        assert whole.operation.verify()
        names = [operation.name.value for operation in whole.body.operations]
    assert len(set(names)) == len(names) == 4


def test_constants_and_attributes() -> None:
    with mlir.make_ir_context(), mlir.ir.Location.unknown():
        module = mlir.ir.Module.create()
        with mlir.ir.InsertionPoint(module.body):
            types = [
                str(mlir.ir_constant(value).type)
                for value in (np.arange(3), np.float32(1), jnp.ones(2), np.bool_(True))
            ]
        assert types == ["tensor<3xi64>", "tensor<f32>", "tensor<2xf32>", "tensor<i1>"]
        attributes = [
            str(mlir.ir_attribute(value))
            for value in (1, 2.5, True, "s", [1, 2], np.float32(2), np.int8(3), np.arange(2))
        ]
        assert attributes == [
            "1 : i64", "2.500000e+00 : f64", "true", '"s"', "[1, 2]", "2.000000e+00 : f32",
            "3 : i8", "dense<[0, 1]> : tensor<2xi64>",
        ]  # fmt: skip


def test_foreign_functions_as_rules() -> None:
    matrix = jnp.eye(3) * 4 + 0.5
    expected = jnp.linalg.cholesky(matrix)  # loads LAPACK's routines
    factor = Primitive("factor")
    factor.def_abstract_eval(same_type)

    def lower(ctx, x):
        status = core.mapped_aval(3, 0, core.mapped_aval(3, 0, ctx.avals_in[0]))
        status = status.update(dtype=np.dtype(np.int32))
        column_major = (0, 1)
        rule = olympus.ffi.ffi_lowering(
            "lapack_spotrf_ffi",
            operand_output_aliases={0: 0},
            operand_layouts=[column_major],
            result_layouts=[column_major, ()],
        )
        both = ctx.replace(avals_out=[*ctx.avals_out, status])
        return rule(both, x, uplo=np.uint8(ord("L")))[:1]

    mlir.register_lowering(factor, lower, platform="cpu")
    found = jnp.tril(olympus.jit(factor.bind)(matrix))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
