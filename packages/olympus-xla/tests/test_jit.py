# SPDX-License-Identifier: Apache-2.0
"""`jit`: tracing and compilation, static and donated arguments, errors."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.diagnostics.errors import TracerBoolConversionError, UnexpectedTracerError
from olympus_ir.settings import config
from olympus_ir.types.dtypes import float0
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla.arrays.transfer import device_put
from olympus_xla.calls.jit import clear_caches, jit


def counted(fun):
    """The function with a list of its Python calls."""
    calls = []

    @functools.wraps(fun)
    def wrapper(*args, **kwargs):
        calls.append(1)
        return fun(*args, **kwargs)

    return wrapper, calls


def test_traces_once_for_each_signature():
    fun, calls = counted(lambda x: lax.sin(x))
    compiled = jit(fun)
    for _ in range(3):
        np.testing.assert_allclose(compiled(np.ones(3, np.float32)), np.sin(np.ones(3)), rtol=1e-6)
    assert len(calls) == 1
    compiled(np.ones(4, np.float32))
    compiled(np.ones(4, np.int32).astype(np.float16))
    assert len(calls) == 3


def test_one_function_jitted_twice_is_compiled_once():
    fun, calls = counted(lambda x: lax.neg(x))
    assert float(jit(fun)(1.0)) == float(jit(fun)(1.0)) == -1.0
    assert len(calls) == 1


class Doubled:
    """A function that has no weak references."""

    __slots__ = ()

    def __call__(self, x):
        return lax.mul(x, 2.0)


def test_functions_without_weak_references_are_jitted_twice():
    # jaxlib crashes where it finds the entry of such a function.
    doubled = Doubled()
    first, second = jit(doubled), jit(doubled)
    assert (first(1.0), second(3.0), first(2.0)) == (2.0, 6.0, 4.0)
    clear_caches()
    assert (first(1.0), second(3.0)) == (2.0, 6.0)
    name = repr(jit(np.sin))
    assert repr(pickle.loads(pickle.dumps(jit(np.sin)))) == name


def test_configuration_is_part_of_the_key():
    fun, calls = counted(lambda x: lax.add(x, 1))
    compiled = jit(fun)
    assert compiled(1).dtype == np.int32
    with config.enable_x64(True):
        assert compiled(1).dtype == np.int64
    assert compiled(1).dtype == np.int32
    assert len(calls) == 2


def test_pytrees_in_and_out():
    result = jit(lambda tree: {"sum": lax.add(tree["a"], tree["b"][0]), "none": None})(
        {"a": 1.0, "b": (2.0,)}
    )
    assert float(result["sum"]) == 3.0
    assert result["none"] is None


def test_jit_is_a_decorator_with_options():
    @jit
    def plain(x):
        """Doubles."""
        return lax.add(x, x)

    @functools.partial(jit, static_argnames=["n"])
    def partial(x, n):
        return lax.mul(x, float(n))

    @jit(static_argnums=1)
    def options_only(x, n):
        return lax.mul(x, float(n))

    assert float(plain(1.0)) == 2.0
    assert plain.__name__ == "plain"
    assert plain.__doc__ == "Doubles."
    for result in (partial(2.0, 3), partial(2.0, n=3), options_only(2.0, 3)):
        assert float(result) == 6.0


def test_as_a_method():
    class Scaled:
        factor = 3.0

        @functools.partial(jit, static_argnums=0)
        def apply(self, x):
            return lax.mul(x, self.factor)

    assert float(Scaled().apply(2.0)) == 6.0


def test_static_arguments_are_compared_by_value_and_type():
    fun, calls = counted(lambda x, n: lax.mul(x, float(n)))
    compiled = jit(fun, static_argnums=1)
    assert float(compiled(1.0, 2)) == float(compiled(1.0, 2)) == 2.0
    assert float(compiled(1.0, 3)) == 3.0
    assert len(calls) == 2


def test_static_arguments_must_be_hashable():
    with pytest.raises(ValueError, match=r"[Nn]on-hashable static argument"):
        jit(lambda x, n: x, static_argnums=1)(1.0, [1])


def test_static_numbers_and_names_must_exist():
    with pytest.raises(ValueError, match="only accepts 1 positional"):
        jit(lambda x: x, static_argnums=3)
    with pytest.raises(ValueError, match="invalid argnames"):
        jit(lambda x: x, static_argnames="y")
    with pytest.raises(TypeError, match="Expected a callable"):
        jit(3)


def test_jit_of_none_raises():
    with pytest.raises(TypeError, match="Expected a callable value, got None"):
        jit(None)


def test_bad_arguments_are_named():
    def fun(x, name):
        return x

    with pytest.raises(TypeError, match=r"class 'str'.*path name"):
        jit(fun)(1.0, "relu")


def test_values_are_not_known_while_tracing():
    def branches(x):
        return x if lax.gt(x, 0.0) else lax.neg(x)

    with pytest.raises(TracerBoolConversionError, match=r"branches at .*argument x"):
        jit(branches)(1.0)


def test_leaked_tracers_are_explained():
    leaked = []

    @jit
    def leaks(x):
        leaked.append(lax.sin(x))
        return x

    leaks(1.0)
    with pytest.raises(UnexpectedTracerError, match="sin"):
        lax.add(leaked[0], 1.0)


def test_closures_over_arrays_large_and_small():
    small, large = np.arange(3, dtype=np.float32), np.arange(5000, dtype=np.float32)
    compiled = jit(lambda x: (lax.add(x, small), lax.reduce_sum(large, (0,))))
    first, second = compiled(np.ones(3, np.float32))
    np.testing.assert_array_equal(first, small + 1)
    np.testing.assert_allclose(second, large.sum())
    first, second = compiled(np.ones(3, np.float32))
    np.testing.assert_array_equal(first, small + 1)
    np.testing.assert_allclose(second, large.sum())


def test_unused_arguments_are_not_passed():
    compiled = jit(lambda x, y: lax.neg(y))
    assert "%arg1" not in compiled.lower(1.0, 2.0).as_text()
    assert float(compiled(1.0, 2.0)) == float(compiled(1.0, 2.0)) == -2.0
    kept = jit(lambda x, y: lax.neg(y), keep_unused=True)
    assert "%arg1" in kept.lower(1.0, 2.0).as_text()
    assert float(kept(1.0, 2.0)) == -2.0


def test_donated_arguments_are_deleted():
    x = device_put(np.ones(64, np.float32))
    pointer = x.unsafe_buffer_pointer()
    y = jit(lambda x: lax.add(x, 1.0), donate_argnums=0)(x)
    assert x.is_deleted()
    assert y.unsafe_buffer_pointer() == pointer
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)


def test_errors_of_donated_arrays_name_the_call():
    def update(x, y):
        return lax.add(x, y)

    step = jit(update, donate_argnums=0)
    x = lax.full((5, 7), 1.0)
    step(x, 1.0)  # the call that takes x
    with pytest.raises(
        RuntimeError, match=r"donated to `update`, called at .*test_jit.py:"
    ) as error:
        lax.neg(x)
    assert "step(x, 1.0)  # the call that takes x" in str(error.value)


def test_donated_arrays_on_several_devices_are_refused(mesh):
    def step(x):
        return lax.mul(x, np.float32(2)), lax.reduce_sum(x, (0,))

    donating = jit(step, donate_argnums=0)
    x = device_put(np.ones(8, np.float32), NamedSharding(mesh, PartitionSpec("x")))
    assert donating(x)[1] == 8
    for _ in range(2):
        with pytest.raises(RuntimeError, match="donated to `step`"):
            donating(x)


def test_unusable_donation_warns():
    with pytest.warns(UserWarning, match=r"donated buffers were not usable.*float32\[4\]"):
        jit(lambda x: lax.reduce_sum(x, (0,)), donate_argnums=0)(np.ones(4, np.float32))


def test_disable_jit_runs_python():
    fun, calls = counted(lambda x: lax.add(x, 1.0))
    compiled = jit(fun)
    with config.disable_jit():
        for _ in range(3):
            assert float(compiled(1.0)) == 2.0
    assert len(calls) == 3


def test_debug_nans_names_the_operation():
    compiled = jit(lambda x: lax.add(lax.log(x), 1.0))
    with (
        config.debug_nans(True),
        pytest.raises(FloatingPointError, match=r"nan\) encountered in log at"),
    ):
        compiled(-1.0)
    with config.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        lax.log(-1.0)
    assert np.isnan(compiled(-1.0))


def test_nested_jit_is_one_function_of_module():
    inner = jit(lambda x: lax.sin(x))
    text = jit(lambda x: inner(inner(inner(x)))).lower(np.ones(3, np.float32)).as_text()
    assert text.count("func.func private") == 1
    assert text.count("call @") == 3


def test_stages_lower_and_compile():
    lowered = jit(lambda x, n: lax.mul(x, float(n)), static_argnums=1).lower(
        np.ones(3, np.float32), 2
    )
    assert "stablehlo.multiply" in lowered.as_text()
    assert "multiply" in lowered.as_text("hlo")
    compiled = lowered.compile()
    # Static arguments have been compiled in.
    np.testing.assert_array_equal(compiled(np.ones(3, np.float32)), 2 * np.ones(3))
    assert compiled.cost_analysis()["flops"] == 3.0
    assert compiled.memory_analysis().output_size_in_bytes == 12
    assert compiled.out_info.shape == (3,)
    with pytest.raises(TypeError, match=r"float32\[3\].*float32\[4\]"):
        compiled(np.ones(4, np.float32))


def test_lowering_for_platforms_that_are_absent():
    for platform in ("cpu", "cuda", "tpu"):
        text = jit(lambda x: lax.tanh(x)).lower(1.0, lowering_platforms=(platform,)).as_text()
        assert "stablehlo.tanh" in text


def test_clearing_caches_traces_again():
    fun, calls = counted(lambda x: lax.add(x, 1.0))
    compiled = jit(fun)
    compiled(1.0)
    clear_caches()
    compiled(1.0)
    assert len(calls) == 2


def test_arrays_without_contents():
    nothing = np.zeros((3,), float0)
    identity = jit(lambda x: x)
    for _ in range(2):
        result = identity(nothing)
        assert result.dtype == float0
        assert result.shape == (3,)


def test_devices_are_released_at_exit(run_python):
    # Otherwise threads of the client may compute while the process takes itself apart.
    code = """
import atexit, gc
def check():
    gc.collect()
    print([type(each) for each in gc.get_objects() if type(each).__name__ == "Device"])
atexit.register(check)  # runs after what is registered later
import numpy as np
from olympus_ir import lax
from olympus_xla import jit
def work():
    jit(lambda x: lax.sin(lax.dot(x, x)))(np.ones((8, 8), np.float32))
    lax.sin(1.0)
work()
"""
    assert run_python(code) == "[]"


def test_attributes_of_the_function():
    def function(x):
        return x

    function.purpose = "a test"
    function.lower = None
    assert jit(function).purpose == "a test"
    assert jit(function).lower(1.0).as_text()


def test_clearing_one_function():
    fun, calls = counted(lambda x: lax.add(x, 1.0))
    jitted = jit(fun)
    jitted(1.0)
    jitted.clear_cache()
    jitted(1.0)
    assert len(calls) == 2


@pytest.mark.parametrize("option", ["static_argnums", "donate_argnums"])
def test_time_of_nested_functions_is_linear_in_their_depth(option):
    def nested(x, n):
        return x

    for _ in range(60):  # each reads the signature of the previous one
        nested = jit(nested, **{option: 0 if option == "donate_argnums" else 1})
    assert nested(np.float32(2), 3) == 2.0


@pytest.mark.parametrize("platforms", ["cpu", 2**40, float("nan"), (1,)])
def test_lowering_platforms_that_are_no_names(platforms):
    with pytest.raises(TypeError, match="lowering_platforms must be a sequence"):
        jit(lax.sin).lower(np.float32(1), lowering_platforms=platforms)


def test_device_put_in_a_program_refuses_a_spec_of_another_rank(mesh):
    sharding = NamedSharding(mesh, PartitionSpec("x"))
    with pytest.raises(ValueError, match="only valid for values of rank at least 1"):
        jit(lambda x: device_put(x, sharding))(1.0)
