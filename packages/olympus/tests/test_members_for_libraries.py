# SPDX-License-Identifier: Apache-2.0
"""Members of programs, primitives, traces and tracers that libraries use."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.api_util import debug_info
from olympus.core import Trace, Tracer
from olympus.errors import ConcretizationTypeError
from olympus.extend import core, linear_util
from olympus.interpreters import ad

SCALAR = olympus.typeof(1.0)


def test_implementations_are_saved_and_set_again() -> None:
    primitive = core.primitives.sin_p
    before, calls = primitive.impl, []

    def counted(x, **params):
        calls.append(x)
        return before(x, **params)

    x = np.float32(1)
    for restore in (primitive.def_impl, lambda impl: setattr(primitive, "impl", impl)):
        primitive.def_impl(counted)
        try:
            assert primitive.bind(x, accuracy=None) == jnp.sin(x)
        finally:
            restore(before)
        assert primitive.bind(x, accuracy=None) == jnp.sin(x)
    assert len(calls) == 2 and primitive.impl == before


def test_members_of_types() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    aval = olympus.typeof(x)
    assert aval.sum.fun(x) == 15.0 and aval.T.fget(x).shape == (3, 2)
    assert aval.itemsize.fget(x) == 4 and aval.at.fget(x)[0].set(0.0).sum() == 12.0
    mesh = olympus.make_mesh((1,), ("i",)).abstract_mesh
    part = aval.shard(mesh, frozenset({"i"}), True, olympus.P("i"))
    assert part.shape == (2, 3) and part.vma == {"i"}
    assert part.unshard(mesh, True, olympus.P("i")).vma == frozenset()
    assert part.nospec(mesh, True, ("i",)) == olympus.P("i")
    assert aval.nospec(mesh, True, ("i",)) == olympus.P()
    ref = olympus.new_ref(x)
    assert olympus.typeof(ref).get.fun(ref).shape == (2, 3)
    assert olympus.typeof(ref).mat.varying == frozenset() and not ref.at[1:].is_dynamic_size


def test_tracers_have_recipe_and_parents() -> None:
    seen = []

    def f(x):
        y = jnp.sin(x)
        seen.append((x.recipe, y.recipe.primitive.name, [p.val for p in y.parents] == [x.val]))
        return y

    olympus.make_olympuspr(f)(1.0)
    assert seen == [(None, "sin", True)]


def test_moved_names_warn() -> None:
    known = []
    with pytest.warns(DeprecationWarning, match="core.is_concrete is deprecated"):
        is_concrete = olympus.core.is_concrete
    olympus.make_olympuspr(lambda x: known.append(is_concrete(x)) or x)(1.0)
    assert known == [False] and is_concrete(1.0)
    with pytest.warns(DeprecationWarning, match="core.is_constant_shape is deprecated"):
        assert olympus.core.is_constant_shape((2, 3))


def test_dtypes_have_limits() -> None:
    assert olympus.dtypes.finfo is jnp.finfo and olympus.dtypes.iinfo("int4").max == 7


def test_programs_have_the_members_of_jax() -> None:
    closed = olympus.make_olympuspr(lambda x: (jnp.sin(x), 2.0))(1.0)
    assert closed.invars == closed.jaxpr.invars and closed.outvars == closed.jaxpr.outvars
    assert closed.in_aval_qdds == closed.in_avals == closed.final_aval_qdds == [SCALAR]
    assert closed.is_high is closed.jaxpr.is_high is False
    (variable,) = closed.invars
    literal = closed.outvars[1]
    assert variable.initial_qdd is variable.final_qdd is None
    assert type(variable)(variable.aval, final_qdd="after").final_qdd == "after"
    assert variable.pretty_print() == "a:f32[]" and variable.pretty_print(print_dtype=False) == "a"
    assert literal.pretty_print() == "2.0:f32[]" and literal.hash == hash(2.0)
    assert repr(literal) == "Literal(2.0)" and repr(variable).endswith("):~float32[]") is False
    assert repr(variable).startswith("Var(id=")


def f(x, *, y):
    return {"a": x}


def test_debugging_information_has_the_members_of_jax() -> None:
    info = debug_info("jit", f, (1.0,), {"y": 2.0})
    assert info.func_filename == __file__ and info.func_name == "f"
    assert info.func_lineno == f.__code__.co_firstlineno
    info.assert_arg_names(2)
    with pytest.raises(AssertionError, match="expected 3 argument names"):
        info.assert_arg_names(3)
    assert info.safe_arg_names(2) == ("x", "y") and info.safe_result_paths(2) == ("", "")
    assert info.filter_arg_names([True, False]) == ("x",)
    assert info.filter_result_paths([True]) is None
    known = info.set_result_paths({"a": 1, "b": (2, 3)})
    assert known.result_paths == ("result['a']", "result['b'][0]", "result['b'][1]")
    assert known.filter_result_paths([False, True, False]) == ("result['b'][0]",)
    with pytest.raises(AssertionError, match="expected 2 result paths"):
        known.assert_result_paths(2)
    assert known.resolve_result_paths().result_paths == known.result_paths
    assert info.replace_func_name("g").func_src_info.startswith("g at ")
    unknown = known.with_unknown_names()
    assert unknown.arg_names is unknown.result_paths is None
    given = debug_info(
        "jit", f, (1.0,), {}, result_paths_thunk=lambda: ("x",), sourceinfo="g at file.py:3"
    )
    assert given.func_src_info == "g at file.py:3" and given.result_paths == ("x",)


def test_names_of_arguments_by_a_signature() -> None:
    import inspect

    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    info = debug_info("jit", wrapper, (1.0,), {"y": 2.0}, signature=inspect.signature(f))
    assert info.arg_names == ("x", "y")


def test_wrapped_functions_have_the_members_of_jax() -> None:
    wrapped = linear_util.wrap_init(f)
    assert wrapped.call_wrapped(1, y=2) == {"a": 1}
    info = debug_info("jit", f, (1.0,), {"y": 2.0})
    assert wrapped.replace_debug_info(info).debug_info is info


def test_primitives_have_the_members_of_jax() -> None:
    sin = olympus.lax.sin_p
    assert sin.abstract_eval(SCALAR, accuracy=None) == (SCALAR, frozenset())
    np.testing.assert_allclose(sin.impl(1.0, accuracy=None), np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(sin.to_lojax(1.0, accuracy=None), np.sin(1.0), rtol=1e-6)
    assert not sin.is_high(SCALAR) and sin.is_effectful is None
    assert not (sin.ref_primitive or sin.ref_allocating or sin.skip_canonicalization)
    bound = core.Primitive("bound")
    seen = []

    @bound.def_bind_with_trace
    def bind(trace, args, avals, params):
        seen.append((args, [aval.shape for aval in avals], params))
        return jnp.sin(args[0])

    assert olympus.jit(lambda x: bound.bind(x, k=1))(0.0) == bound.bind(0.0, k=2) == 0
    assert seen[0][1:] == ([()], {"k": 1}) and seen[1] == ([0.0], [()], {"k": 2})
    nothing = core.Primitive("nothing")
    with pytest.raises(NotImplementedError):
        nothing.impl(1.0)


def test_traces_and_tracers() -> None:
    found = []

    def look(x):
        trace = x._trace
        assert isinstance(trace, Trace) and trace.is_valid() and not trace.requires_low
        assert trace.full_raise(2.0) == trace.stage_value(2.0) == 2.0
        assert x.full_lower() is x and not hasattr(x, "sharding") and not hasattr(x, "device")
        called = trace.process_call(None, linear_util.wrap_init(lambda y: [y + 1]), [x], {})
        assert isinstance(called[0], Tracer)
        with pytest.raises(
            ConcretizationTypeError, match="The traceback attribute was asked of traced array"
        ):
            x.traceback  # noqa: B018
        found.append((trace, x.to_concrete_value(), x.get_referent()))
        return x.dimension_as_value(0) * x

    np.testing.assert_array_equal(olympus.jit(look)(jnp.ones(3)), [3, 3, 3])
    olympus.vmap(look)(jnp.ones((2, 3)))
    olympus.jvp(look, (jnp.ones(3),), (jnp.ones(3),))
    assert [value is None for _, value, _ in found] == [True, True, False]
    assert not any(trace.is_valid() for trace, *_ in found)
    with core.set_current_trace(None) as trace:
        trace.invalidate()
        assert not trace.is_valid()
        trace.finished = False


def test_current_traces_have_the_members_of_jax() -> None:
    def look(x):
        outer = core.find_top_trace(())
        taken = core.take_current_trace()
        with taken as trace:
            assert trace is outer and taken.prev is outer
        setting = core.set_current_trace(outer, check_leaks=False)
        with setting:
            assert setting.prev is outer and setting.check_leaks is False
        return x

    olympus.jit(look)(1.0)


def test_zeros_and_derivatives() -> None:
    np.testing.assert_array_equal(ad.Zero(olympus.typeof(jnp.ones(3))).instantiate(), np.zeros(3))
    wrapped = linear_util.wrap_init(lambda x: [jnp.sin(x)])

    def names(transform_stack):
        def fun(x):
            return ad.jvp(wrapped, (x,), (1.0,), transform_stack=transform_stack)

        program = olympus.make_olympuspr(fun)(1.0)
        return {str(equation.source_info.name_stack) for equation in program.eqns}

    assert names(True) == {"jvp()"} and names(False) == {""}

    def look(x):
        primal, tangent = x._trace.to_primal_tangent_pair(x)
        constant, zero = x._trace.to_primal_tangent_pair(3.0)
        assert (primal, tangent, constant) == (2.0, 5.0, 3.0) and type(zero) is ad.Zero
        return x

    olympus.jvp(look, (2.0,), (5.0,))


def test_pytrees_that_do_not_match() -> None:
    with pytest.raises(ValueError, match=r"- \['a', 'c'\]|- \('a', 'c'\)"):
        olympus.tree.map(lambda x, y: x, {"a": 1, "c": 2}, {"a": 1, "b": 2})


def test_types_have_the_members_of_jax() -> None:
    array = olympus.typeof(jnp.ones((2, 3)))
    integers = olympus.typeof(jnp.arange(3))
    assert array.lo_ty() == [array] and not array.is_high and not array.has_qdd
    assert array.lower_val(3) == [3] and array.raise_val(3) == 3
    assert array.at_least_vspace() is array.to_ct_aval() is array
    assert integers.to_ct_aval().dtype == integers.at_least_vspace().dtype == olympus.float0
    assert str(array.dec_rank(3, 1)) == "float32[2]" and array.dec_rank(3, None) is array
    assert str(array.inc_rank(5, array.leading_axis_spec())) == "float32[5,2,3]"
    assert SCALAR.normalize() is SCALAR.strip_weak_type() is SCALAR.update_weak_type(False)
    assert array.vspace_add(jnp.float32(1), jnp.float32(2)) == 3
    token = core.AbstractToken()
    assert token.lo_ty() == [token] and token.update() is token.normalize() is token
    with pytest.raises(TypeError, match="AbstractToken must define dec_rank"):
        token.dec_rank(3, 0)


def test_types_over_manual_axes() -> None:
    varying = olympus.sharding.ManualAxisType(varying=frozenset({"i"}))
    assert str(SCALAR.update_manual_axis_type(varying)) == "~float32[]{V:i}"
    summed = olympus.sharding.ManualAxisType(unreduced=frozenset({"i"}))
    with pytest.raises(TypeError, match="is laid out over no mesh"):
        SCALAR.update_manual_axis_type(summed)
    explicit = (olympus.sharding.AxisType.Explicit,) * 2
    mesh = olympus.make_mesh((1, 1), ("i", "j"), axis_types=explicit)
    layout = olympus.NamedSharding(mesh.abstract_mesh, olympus.P("j"))
    array = olympus.core.ShapedArray((4,), "float32", sharding=layout)
    changed = array.update_manual_axis_type(summed)
    assert changed.layout.spec == olympus.P("j", unreduced={"i"})
    given = olympus.core.ShapedArray(
        (4,), "float32", sharding=layout, manual_axis_type=summed.update(varying=frozenset({"j"}))
    )
    assert (given.layout.spec, given.vma) == (olympus.P("j", unreduced={"i"}), frozenset({"j"}))
    given = olympus.core.ShapedArray((), "float32", True, manual_axis_type=varying)
    assert given is SCALAR.update_manual_axis_type(varying)
    with pytest.raises(TypeError, match="needs a NamedSharding"):
        olympus.core.ShapedArray((4,), "float32", manual_axis_type=summed)
