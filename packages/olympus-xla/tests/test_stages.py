# SPDX-License-Identifier: Apache-2.0
"""Ahead-of-time compilation: attributes of each stage, and calls of compiled functions."""

import pickle
import re
import sys

import numpy as np
import pytest

import olympus_sharding
from olympus_autodiff import grad
from olympus_ir import lax
from olympus_ir.diagnostics.errors import JaxRuntimeError
from olympus_ir.programs.make import ShapeDtypeStruct, eval_shape, make_olympuspr
from olympus_ir.settings.config import config, disable_jit
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import device_put, jit
from olympus_xla._jaxlib import CompileOptions
from olympus_xla.arrays.layouts import Format, Layout
from olympus_xla.calls import stages

F32 = np.float32
X = np.arange(12, dtype=F32).reshape(3, 4)


def affine(a, b, *, k=1.0, s=2):
    return {"r": lax.add(a["x"], lax.full(a["x"].shape, s, F32)), "q": lax.mul(b, k)}


@pytest.fixture
def traced():
    function = jit(affine, donate_argnums=0, static_argnames="s")
    return function.trace({"x": X}, 2.0, k=F32(3), s=5)


def test_traced_stages_describe_types_and_trees(traced):
    x, b, k = ShapedArray((3, 4), F32), ShapedArray((), F32, weak_type=True), ShapedArray((), F32)
    assert traced.fun_name == "affine"
    assert traced.in_avals == (({"x": x}, b), {"k": k})
    assert traced.in_tree == pytrees.tree_structure((({"x": 0}, 0), {"k": 0}))
    assert traced.out_avals == {"q": ShapedArray((), F32), "r": x}
    assert traced.out_tree == pytrees.tree_structure({"q": 0, "r": 0})
    assert traced.out_info["r"] == ShapeDtypeStruct((3, 4), F32)
    assert traced.donate_argnums == (0,)
    assert traced.args_info == (
        ({"x": stages.ArgInfo(x, True)}, stages.ArgInfo(b, False)),
        {"k": stages.ArgInfo(k, False)},
    )
    info = traced.args_info[0][0]["x"]
    assert (info.shape, info.dtype, info.donated) == ((3, 4), F32, True)
    assert str(traced.jaxpr).startswith("{ lambda ; a:f32[3,4] b:f32[] c:f32[]. let")


def test_stages_have_equal_attributes(traced):
    lowered = traced.lower()
    compiled = lowered.compile()
    for stage in (lowered, compiled):
        for what in ("in_avals", "in_tree", "out_tree", "args_info", "donate_argnums"):
            assert getattr(stage, what) == getattr(traced, what)
    assert lowered.out_info["q"] == ShapeDtypeStruct((), F32)
    assert compiled.out_info["r"].sharding == compiled.output_shardings["r"]
    assert compiled.out_info["r"].format == compiled.output_formats["r"]


def test_jitted_functions_are_instances_of_wrapped():
    assert isinstance(jit(lambda x: x), stages.Wrapped)
    assert not isinstance(lambda x: x, stages.Wrapped)


def test_lowered_texts_are_available_in_both_dialects(traced):
    lowered = traced.lower()
    text = lowered.as_text()
    assert text == lowered.as_text("stablehlo") == str(lowered.compiler_ir())
    assert "stablehlo.add" in text
    assert "tf.aliasing_output = 1" in text
    assert "loc(" not in text
    located = lowered.as_text(debug_info=True)
    assert "jit(affine)/add" in located
    assert "test_stages.py" in located
    assert "olympus_xla" not in located
    assert lowered.as_text("hlo").startswith("HloModule jit_affine")
    with pytest.raises(ValueError, match="unknown dialect: mhlo"):
        lowered.as_text("mhlo")


def test_serialized_hlo_can_be_read_back():
    lowered = jit(lambda x: lax.sin(x)).lower(X)
    computation = lowered.compiler_ir("hlo")
    proto = computation.as_serialized_hlo_module_proto()
    again = type(computation)(proto)
    assert again.as_hlo_text() == lowered.as_text("hlo")
    assert again.program_shape().parameter_shapes()[0].dimensions() == (3, 4)


def test_analyses_report_operations_and_memory():
    lowered = jit(lambda x: lax.dot(x, x)).lower(np.ones((8, 8), F32))
    compiled = lowered.compile()
    for analysis in (lowered.cost_analysis(), compiled.cost_analysis()):
        assert analysis["flops"] >= 2 * 8**3 - 8 * 8
        assert analysis["bytes accessed"] >= 3 * 4 * 64 - 256
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == 256
    assert memory.output_size_in_bytes == 256
    assert compiled.as_text().startswith("HloModule jit__lambda")
    assert compiled.runtime_executable().local_devices()


# ---- calls of compiled functions ----


def test_compiled_calls_use_the_fast_path(devices):
    compiled = jit(lambda x, y: {"sum": lax.add(x, y)}).lower(X, X).compile()
    x = device_put(X)
    assert np.array_equal(compiled(x, X)["sum"], 2 * X)
    assert compiled.__call__._cache_size() == 1
    for _ in range(3):
        assert np.array_equal(compiled(x, X)["sum"], 2 * X)
    assert np.array_equal(compiled.call(x, X)["sum"], 2 * X)
    assert compiled.__call__._cache_size() == 1
    compiled(X, X)
    assert compiled.__call__._cache_size() == 2


def test_mismatched_arguments_raise(traced):
    compiled = traced.lower().compile()
    result = compiled({"x": device_put(X)}, 2.0, k=F32(3))
    assert np.array_equal(result["r"], X + 5)
    with pytest.raises(TypeError, match=r"does not match the input pytree.*\n.*at kwargs, seen"):
        compiled({"x": X}, 2.0)
    with pytest.raises(
        TypeError, match=r"at args, seen tuple of length 2 but now given .*length 1"
    ):
        compiled({"x": X}, k=F32(3))
    with pytest.raises(TypeError, match="does not match the input pytree"):
        compiled({"x": X}, 2.0, k=F32(3), s=5)  # static arguments are compiled in
    with pytest.raises(TypeError) as caught:
        compiled({"x": X[:2]}, 2, k=F32(3))
    assert str(caught.value).splitlines()[1:] == [
        "Argument 'a['x']' compiled with float32[3,4] and called with float32[2,4]",
        "Argument 'b' compiled with float32[] and called with int32[]",
    ]
    with pytest.raises(TypeError, match="not a valid"):
        compiled({"x": X}, "two", k=F32(3))
    # None of this was remembered.
    assert np.array_equal(compiled({"x": device_put(X)}, F32(2), k=F32(3))["q"], 6)


def test_static_arguments_are_omitted_in_compiled_calls():
    compiled = jit(lambda n, x: lax.mul(x, float(n)), static_argnums=0).lower(3, X).compile()
    assert np.array_equal(compiled(X), 3 * X)


def test_compiled_functions_are_not_transformed():
    compiled = jit(lax.sin).lower(F32(1)).compile()
    for transform in (jit, grad):
        with pytest.raises(TypeError, match="lowered and compiled for a particular signature"):
            transform(lambda x: compiled(x))(F32(1))


def test_compiled_functions_under_disable_jit():
    compiled = jit(lax.sin).lower(X).compile()
    with disable_jit():
        assert np.allclose(compiled(X), np.sin(X))


def test_donated_arguments_are_deleted(devices):
    compiled = jit(lambda x: lax.add(x, x), donate_argnums=0).lower(X).compile()
    x = device_put(X)
    assert np.array_equal(compiled(x), 2 * X)
    assert x.is_deleted()


def test_arguments_on_another_device(devices):
    compiled = jit(lambda a, b: lax.add(b, b)).lower(X, X).compile()
    elsewhere = device_put(X, devices[1])
    assert np.array_equal(compiled(elsewhere, X), 2 * X)  # the first argument is not used
    with pytest.raises(ValueError, match="Argument b with shape float32") as caught:
        compiled(X, elsewhere)
    assert "Passed sharding: SingleDeviceSharding(device=CpuDevice(id=1)" in str(caught.value)


def test_shardings_and_formats(devices):
    compiled = jit(lambda a, b: lax.add(b, b)).lower(X, X).compile()
    (unused, used), keywords = compiled.input_shardings
    assert unused is None
    assert used.device_set == {devices[0]}
    assert keywords == {}
    assert compiled.input_formats[0] == (Format(), Format(Layout((0, 1), ()), used))
    assert compiled.output_formats == Format(Layout((0, 1), ()), used)


def test_shardings_over_a_mesh(mesh):
    rows = NamedSharding(mesh, PartitionSpec("x"))
    columns = NamedSharding(mesh, PartitionSpec(None, "x"))
    x = np.ones((4, 4), F32)
    compiled = jit(lambda a: lax.add(a, a)).lower(ShapeDtypeStruct((4, 4), F32, sharding=rows))
    compiled = compiled.compile()
    assert compiled.input_shardings == ((rows,), {})
    assert compiled.output_shardings == rows
    assert compiled.out_info.sharding == rows
    assert np.array_equal(compiled(x), 2 * x)
    assert np.array_equal(compiled(device_put(x, rows)), 2 * x)
    with pytest.raises(ValueError, match="shardings that disagree"):
        compiled(device_put(x, columns))


def test_unsuitable_compiler_options_raise():
    lowered = jit(lambda x: lax.sin(x), compiler_options={"xla_embed_ir_in_executable": True})
    lowered = lowered.lower(X)
    assert np.allclose(lowered.compile({"xla_cpu_enable_fast_math": True})(X), np.sin(X), atol=1e-3)
    with pytest.raises(JaxRuntimeError, match="No such compile option: 'xla_no_such_option'"):
        lowered.compile({"xla_no_such_option": 1})
    with pytest.raises(TypeError, match="'xla_cpu_enable_fast_math' must be a bool"):
        lowered.compile({"xla_cpu_enable_fast_math": object()})


def test_device_assignments_must_match(devices):
    lowered = jit(lax.sin).lower(X)
    assert np.allclose(lowered.compile(device_assignment=(devices[0],))(X), np.sin(X))
    with pytest.raises(ValueError, match="device_assignment passed to"):
        lowered.compile(device_assignment=(devices[1],))


def test_dumps_are_named_after_the_function(run_python, tmp_path):
    code = """
import olympus_xla, numpy as np
from olympus_ir import lax
olympus_xla.jit(lambda x: lax.sin(x))(np.ones(3, np.float32))
"""
    run_python(code, XLA_FLAGS=f"--xla_dump_to={tmp_path} --xla_dump_hlo_as_text")
    names = [path.name for path in tmp_path.iterdir()]
    assert any("jit__lambda" in name and "before_optimizations.txt" in name for name in names)
    assert any("jit__lambda" in name and "after_optimizations.txt" in name for name in names)


def test_result_types_have_the_requested_shardings():
    place = device_put(X).sharding
    function = jit(lambda x: (x, lax.neg(x)), out_shardings=(place, None))
    for first, second in (
        function.eval_shape(X),
        function.trace(X).out_info,
        function.lower(X).out_info,
    ):
        assert first.sharding == place and second.sharding is None


def main_of(lowered):
    return next(line for line in lowered.as_text().splitlines() if "func public @main" in line)


ALIAS, DONOR = "tf.aliasing_output", "jax.buffer_donor"


@pytest.mark.parametrize(
    ("function", "marked", "warns"),
    [
        (lambda x: x * 2, ALIAS, False),
        (lambda x: lax.convert_element_type(x, np.int32), DONOR, False),
        (lambda x: x[:2], None, True),
    ],
)
def test_donation_marks_in_the_module(recwarn, function, marked, warns):
    text = main_of(jit(function, donate_argnums=0).lower(X))
    assert [mark for mark in (ALIAS, DONOR) if mark in text] == [marked] * (marked is not None)
    told = [str(each.message) for each in recwarn if "donated buffers" in str(each.message)]
    assert [("not usable: float32[3,4]" in each) for each in told] == [True] * warns


def test_donation_between_shardings(mesh):
    rows, columns = (NamedSharding(mesh, PartitionSpec(*each)) for each in (("x",), (None, "y")))
    value = np.zeros((4, 4), F32)

    def text(source, target):
        double = jit(lambda x: x * 2, donate_argnums=0, in_shardings=source, out_shardings=target)
        return main_of(double.lower(value))

    assert ALIAS in text(rows, rows)
    assert DONOR in text(rows, columns)  # parts of as many bytes
    assert DONOR in text(rows, None)  # the compiler chooses
    with pytest.warns(UserWarning, match="not usable: float32.4,4."):
        replicated = text(NamedSharding(mesh, PartitionSpec()), rows)
    assert ALIAS not in replicated
    assert DONOR not in replicated
    given = device_put(value, rows)
    double = jit(lambda x: x * 2, donate_argnums=0, in_shardings=rows, out_shardings=rows)
    assert np.array_equal(double(given), value * 2)
    assert given.is_deleted()


def test_hlo_text_with_origins():
    lowered = jit(lambda x: lax.sin(x)).lower(X)
    text = lowered.as_text("hlo", debug_info=True)
    assert 'op_name="jit(<lambda>)/sin"' in text
    assert __file__ in text
    assert "metadata" not in lowered.as_text("hlo")


def lines_of(lowered):
    text = lowered.as_text(debug_info=True)
    return {int(line) for line in re.findall(rf'"{re.escape(__file__)}":(\d+)', text)}


def shared(x):
    return lax.sin(x)


def line_here():
    return sys._getframe(1).f_lineno


def test_debug_text_has_lines_of_current_caller():
    jitted, body = jit(shared), shared.__code__.co_firstlineno + 1
    for lowered, line in (
        (jit(lambda x: jitted(x)).lower(X), line_here()),
        (jit(lambda x: jitted(x)).lower(X), line_here()),
        (jitted.lower(X), line_here()),
        (jitted.lower(X), line_here()),
    ):
        assert lines_of(lowered) == {body, line}


def test_debug_text_of_loops_has_lines_around_them():
    def step(c, x):
        return lax.cos(c), x

    first = jit(lambda x: lax.scan(step, x[0, 0], x)).lower(X), line_here()
    second = jit(lambda x: lax.scan(step, x[0, 0], x)).lower(X), line_here()
    for lowered, line in (first, second):
        assert lines_of(lowered) == {step.__code__.co_firstlineno + 1, line}


def test_compiler_options_that_are_not_flags():
    lowered = jit(lambda x: lax.sin(x)).lower(X)
    for name, value in (
        ("optimization_level", 1),
        ("memory_fitting_level", 2),
        ("fdo_profile", b""),
    ):
        assert np.allclose(lowered.compile({name: value})(X), np.sin(X))
    for name, value in (("exec_time_optimization_effort", 0.5), ("memory_fitting_effort", 1)):
        if hasattr(CompileOptions().executable_build_options, name):
            assert np.allclose(lowered.compile({name: value})(X), np.sin(X))
        else:  # the compilers of later versions only have levels
            with pytest.raises(ValueError, match=f"this jaxlib has no {name}: set olympus_"):
                lowered.compile({name: value})
    with pytest.raises(TypeError, match="'optimization_level' must be int, got 'O1'"):
        lowered.compile({"optimization_level": "O1"})


def test_compiler_options_belong_to_the_outermost_function():
    inner = jit(lambda x: lax.sin(x), compiler_options={"xla_embed_ir_in_executable": True})
    assert np.allclose(inner(X), np.sin(X))
    assert eval_shape(inner, X).shape == X.shape
    with pytest.raises(
        ValueError, match="only be passed to top-level `olympus.jit`.*name: <lambda>"
    ):
        jit(lambda x: inner(x))(X)


def test_lowering_again_from_one_line_shares_module():
    function = jit(lambda x: lax.sin(x))
    first, second = [function.lower(X).compiler_ir() for _ in range(2)]
    assert first.operation == second.operation
    elsewhere = function.lower(X).compiler_ir()
    assert elsewhere.operation != first.operation


def test_lowering_again():
    function = jit(lambda x: lax.sin(x))

    def lowered_text(limit, platforms):
        config.update("olympus_traceback_in_locations_limit", limit)
        try:
            return function.trace(X).lower(lowering_platforms=platforms).as_text(debug_info=True)
        finally:
            config.update("olympus_traceback_in_locations_limit", 100)

    cases = [(100, ("cpu",)), (1, ("cpu",)), (100, ("cpu", "cuda")), (100, ("cpu",))]
    whole, short, several, again = [lowered_text(*case) for case in cases]
    assert again == whole
    assert short.count("callsite") < whole.count("callsite")
    assert "%arg0: tensor<i32>" in several
    assert "%arg0: tensor<i32>" not in whole


# ---- stages made by hand ----


def test_traced_of_the_parameters_of_an_equation():
    fun = jit(lambda x, y: lax.sub(x, y), donate_argnums=0)
    (equation,) = make_olympuspr(fun)(X, X).eqns
    struct = ShapeDtypeStruct(X.shape, F32)
    arguments, leaf = pytrees.tree_structure(((struct, struct), {})), pytrees.tree_structure(0)
    traced = stages.Traced([struct, X], equation.params, arguments, leaf, [])
    assert (traced.in_tree, traced.out_tree, traced.donate_argnums) == (arguments, leaf, (0,))
    assert traced.out_info == struct
    np.testing.assert_array_equal(traced.lower().compile()(X, X / 2), X / 2)
    one = pytrees.tree_structure(((struct,), {}))
    bound = stages.Traced([struct], equation.params, one, leaf, [X])
    np.testing.assert_array_equal(bound.lower().compile()(X / 4), X - X / 4)
    with pytest.raises(ValueError, match="2 inputs and 1 results, got 0 constants, a structure of"):
        stages.Traced([struct], equation.params, one, leaf, [])
    with pytest.raises(ValueError, match="has 2 arguments, got the types of 1"):
        stages.Traced([struct], equation.params, arguments, leaf, [])


def test_traced_keeps_the_options_of_the_equation(devices):
    mesh = olympus_sharding.Mesh(devices[:2], ("i",))
    rows = NamedSharding(mesh, PartitionSpec("i"))
    x = np.arange(8, dtype=F32)
    fun = jit(lax.neg, in_shardings=rows, out_shardings=rows, keep_unused=True)
    (equation,) = make_olympuspr(fun)(x).eqns
    arguments, leaf = pytrees.tree_structure(((0,), {})), pytrees.tree_structure(0)
    traced = stages.Traced([x], equation.params, arguments, leaf, [])
    compiled = traced.lower().compile()
    assert compiled.input_shardings == ((rows,), {}) and compiled.output_shardings == rows
    assert compiled(x).sharding == rows


def test_lowered_with_another_structure():
    lowered = jit(lambda x, y: {"r": lax.sub(x, y)}, donate_argnums=1).lower(X, X)
    (x, y), _ = lowered.args_info
    named = stages.Lowered(lowered._lowering, (({"a": x, "b": y},), {}), lowered.out_tree, True)
    assert named.in_avals == (({"a": x._aval, "b": y._aval},), {})
    assert named.donate_argnums == (1,) and named.as_text() == lowered.as_text()
    compiled = named.compile()
    np.testing.assert_array_equal(compiled({"a": X, "b": X / 2})["r"], X / 2)
    with pytest.raises(NotImplementedError, match="does not support keyword arguments"):
        compiled(b=X)


def test_compiled_with_values_of_the_first_operands():
    compiled = jit(lambda x, y: (lax.sub(x, y), y)).lower(X, X).compile()
    (_, y), _ = compiled.args_info
    pair = pytrees.tree_structure({"difference": 0, "y": 0})
    bound = stages.Compiled(compiled._executable, [X], ((y,), {}), pair)
    for copy in (bound, pickle.loads(pickle.dumps(bound))):
        np.testing.assert_array_equal(copy(X / 2)["difference"], X / 2)
        assert copy.in_avals == ((y._aval,), {}) and list(copy.out_info) == ["difference", "y"]
        assert copy.input_shardings == ((compiled.input_shardings[0][1],), {})
    with pytest.raises(TypeError, match="seen tuple of length 1 but now given tuple of length 2"):
        bound(X, X)
    with pytest.raises(TypeError, match="called with float32"):
        bound(X[0])
    assert len(compiled._executable.call(X, X)) == 2
    with pytest.raises(TypeError, match="was compiled for 2 operands, got 1"):
        compiled._executable.call(X)
