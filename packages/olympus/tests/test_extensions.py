# SPDX-License-Identifier: Apache-2.0
"""`olympus.extend`: backends, compilers, serialized programs and shardings, generators."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.extend import backend, core, mlir, random, sharding, xla
from olympus.extend.core import primitives
from olympus.extend.lowering import LoweringRuleContext, OlympusIrContext, upstream_dialects
from olympus.interpreters import mlir as lowering
from olympus.interpreters import pxla
from olympus.sharding import AxisType, NamedSharding, PartitionSpec


def test_compile_options_accept_overrides() -> None:
    options = backend.get_compile_options(1, 1, env_options_overrides={"xla_cpu_fast": "1"})
    assert (options.num_replicas, options.num_partitions) == (1, 1)
    assert options.device_assignment is None
    assert options.env_option_overrides == [("xla_cpu_fast", "1")]
    replicas = backend.get_compile_options(2, 1, device_assignment=[0, 1], fdo_profile=b"profile")
    assert replicas.device_assignment.replica_count() == 2
    assert replicas.executable_build_options.fdo_profile == b"profile"
    with pytest.raises(ValueError, match="1 replicas of 2 partitions"):
        backend.get_compile_options(1, 2, device_assignment=[0, 1])
    devices = np.array(olympus.devices()[:1])
    given = pxla.create_compile_options(
        None, False, [True], [False], olympus.devices()[0].client, devices, {}
    )
    build = given.executable_build_options
    assert list(build.allow_spmd_sharding_propagation_to_parameters) == [True]
    assert not given.parameter_is_tupled_arguments


def test_backends_of_plugins() -> None:
    program = """
import logging
logging.basicConfig(level=logging.WARNING, format="%(message)s")
import olympus
from olympus.extend import backend
from olympus_xla._jaxlib import make_cpu_client

def fails():
    raise RuntimeError("no such device")

backend.register_backend_factory("broken", fails, priority=500)
backend.register_backend_factory("absent", lambda: None, priority=450)
backend.register_backend_factory(
    "simulated", lambda: make_cpu_client(num_devices=3), priority=400, experimental=True
)
print(olympus.default_backend(), len(olympus.devices("simulated")), sorted(backend.backends()))
try:
    backend.register_backend_factory("simulated", fails)
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    _, count, *names = done.stdout.splitlines()[0].split(maxsplit=2)
    assert count == "3" and names == ["['cpu', 'simulated']"]
    assert "has been initialized already" in done.stdout
    assert "'simulated' is experimental" in done.stderr


def test_a_backend_that_must_not_fail() -> None:
    program = """
import olympus
from olympus.extend import backend

def fails():
    raise RuntimeError("no such device")

backend.register_backend_factory("broken", fails, fail_quietly=False)
try:
    olympus.devices()
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Unable to initialize backend 'broken': no such device" in done.stdout


def test_passes_of_the_compiler() -> None:
    seen = []

    def look(module: bytes) -> None:
        seen.append(module)

    xla.register_hlo_module_transformation(look, name="look", platforms="cpu")
    try:
        olympus.jit(lambda x: jnp.sin(x) * 3.25 + 17)(jnp.ones(5))
    finally:
        assert xla.clear_hlo_module_transformation("look")
    assert seen and all(isinstance(module, bytes) for module in seen)
    assert not xla.clear_hlo_module_transformation("look")
    count = len(seen)
    olympus.jit(lambda x: jnp.sin(x) * 4.25 + 17)(jnp.ones(5))
    assert len(seen) == count
    with pytest.raises(TypeError, match="stage must be a PipelineStage"):
        xla.register_hlo_module_transformation(look, name="look", stage=1)
    with pytest.raises(ValueError, match="unknown platforms"):
        xla.register_hlo_module_transformation(look, name="look", platforms="nowhere")


def test_shardings_survive_serialization() -> None:
    mesh = olympus.make_mesh((1,), ("i",))
    hlo = NamedSharding(mesh, PartitionSpec("i"))._to_xla_hlo_sharding(2)
    data = sharding.get_serialized_proto_from_hlo_sharding(hlo)
    assert isinstance(data, bytes)
    assert sharding.get_hlo_sharding_from_serialized_proto(data) == hlo
    proto = sharding.get_op_sharding_from_serialized_proto(data)
    assert type(proto).__name__ == "OpSharding" and proto.SerializeToString() == data
    assert sharding.GSPMDSharding(olympus.devices()[:1], hlo).num_devices == 1
    whole = sharding.GSPMDSharding.get_replicated(tuple(olympus.devices()[:1]))
    assert whole.is_fully_replicated and whole.num_devices == 1


def test_portable_programs_survive_serialization() -> None:
    lowered = olympus.jit(jnp.sin).lower(jnp.ones(3))
    module = lowered.compiler_ir()
    data = mlir.serialize_portable_artifact(module, "1.0.0")
    with module.context:
        again = mlir.deserialize_portable_artifact(data, module.context)
    assert "stablehlo.sine" in str(again)
    hlo = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
    assert isinstance(mlir.hlo_to_stablehlo(hlo), bytes)
    bytecode = lowering.module_to_bytecode(module)
    assert isinstance(mlir.refine_polymorphic_shapes(bytecode), bytes)


def test_the_context_of_programs() -> None:
    context = OlympusIrContext()
    with context, lowering.ir.Location.unknown():
        module = lowering.ir.Module.parse("func.func @f() { return }")
        assert module.operation.verify()
    assert isinstance(lowering.make_ir_context(), OlympusIrContext)
    assert isinstance(upstream_dialects, lowering.ir.DialectRegistry)


def test_lower_with_sharding_in_types() -> None:
    def lower(ctx: LoweringRuleContext, x):
        unchanged = mlir.lower_with_sharding_in_types(ctx, x, ctx.avals_in[0])
        assert unchanged == x
        return [mlir.lower_with_sharding_in_types(ctx, x, aval)]

    mesh = olympus.make_mesh((1,), ("i",), axis_types=(AxisType.Explicit,))
    layout = NamedSharding(mesh.abstract_mesh, PartitionSpec("i"))
    aval = olympus.core.ShapedArray((4,), np.dtype("float32"), sharding=layout)
    primitive = core.Primitive("laid_out")
    primitive.def_abstract_eval(lambda x: x)
    lowering.register_lowering(primitive, lower)
    text = olympus.jit(primitive.bind).lower(jnp.ones(4)).as_text()
    assert 'sdy.sharding_constraint %arg0 <@mesh, [{"i"}]>' in text


def test_generators_of_random_bits() -> None:
    for implementation, name in (
        (random.threefry_prng_impl, "threefry2x32"),
        (random.rbg_prng_impl, "rbg"),
        (random.unsafe_rbg_prng_impl, "unsafe_rbg"),
    ):
        assert implementation.name == name
        key = random.random_seed(3, implementation)
        expected = olympus.random.bits(olympus.random.key(3, impl=name), (4,))
        np.testing.assert_array_equal(olympus.random.bits(key, (4,)), expected)


def test_tokens_are_instances_of_the_public_class() -> None:
    token = lax.create_token()
    assert isinstance(token, core.Token) and token.block_until_ready() is None
    assert isinstance(lax.after_all(token, core.Token(jnp.zeros(0, bool))), core.Token)


def test_scalars_may_be_uninitialized() -> None:
    def f():
        return primitives.empty2_p.bind(
            dtype=np.dtype("float32"), memory_space=olympus.memory.Space.Device
        )

    assert str(olympus.make_olympuspr(f)()).splitlines()[1].strip() == (
        "a:f32[] = empty2[dtype=float32 memory_space=MemorySpace.Device]"
    )
    assert olympus.jit(f)().shape == f().shape == ()
    assert olympus.vmap(lambda x: 0 * f() + x)(jnp.ones(3)).shape == (3,)
    with pytest.raises(TypeError, match="memory_space must be"):
        primitives.empty2_p.bind(dtype=np.dtype("float32"), memory_space=None)


def test_parameters_that_may_be_left_out() -> None:
    x = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 1.0]], np.float32)

    def product(x, y):
        return primitives.mul_p.bind(x, y)

    def values(x):
        return primitives.svd_p.bind(x, full_matrices=False, compute_uv=False)[0]

    left, singular, right = np.linalg.svd(x, full_matrices=False)
    for transform in (lambda f: f, olympus.jit):
        np.testing.assert_array_equal(transform(product)(x, x), x * x)
        np.testing.assert_allclose(transform(values)(x), singular, rtol=1e-5)
        np.testing.assert_array_equal(transform(primitives.conj_p.bind)(x), x.astype("complex64"))
    np.testing.assert_array_equal(olympus.grad(lambda x: product(x, x).sum())(x), 2 * x)
    np.testing.assert_allclose(
        olympus.grad(lambda x: values(x).sum())(x), left @ right, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(olympus.vmap(product)(x, x), x * x)
