# SPDX-License-Identifier: Apache-2.0
"""Exported functions: attributes, calls, and serialization."""

import collections
import json
import os
import pickle
import subprocess
import sys
import zlib

import numpy as np
import pytest

import olympus_export as export
from olympus_autodiff import grad, jvp, vjp
from olympus_batching import vmap
from olympus_export import DisabledSafetyCheck, deserialize, trees
from olympus_export.functions import format as file_format
from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.callbacks import pure_callback
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings.config_flags import export_calling_convention_version
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.placement import AbstractMesh
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding import AxisType, Mesh, NamedSharding, PartitionSpec, make_mesh
from olympus_xla import device_put, devices, jit
from olympus_xla.compiling.lowering.tables import define_for_platform, lowering_rules, nary
from olympus_xla.foreign import ffi

F32 = np.float32
X = np.arange(12, dtype=F32).reshape(3, 4)

differing_p = Primitive("differing_when_exported")
differing_p.def_abstract_eval(lambda x: x)
lowering_rules.define(differing_p, nary("stablehlo.tanh"))
define_for_platform(differing_p, "cpu", nary("stablehlo.sine"))
define_for_platform(differing_p, "tpu", nary("stablehlo.cosine"))


def model(params, x, *, scale):
    y = lax.sin(lax.dot(x, params["w"]))
    return {"y": lax.mul(y, lax.broadcast_in_dim(scale, y.shape, ())), "x": x}


PARAMS = {"w": np.linspace(0, 1, 8, dtype=F32).reshape(4, 2)}


@pytest.fixture(scope="module")
def exported():
    return export.export(jit(model))(PARAMS, X, scale=F32(2))


@pytest.fixture(params=["as it is", "after a file"])
def either(request, exported):
    if request.param == "as it is":
        return exported
    return deserialize(exported.serialize(vjp_order=2))


def test_attributes_of_exported_functions(either):
    w, x, scale = ShapedArray((4, 2), F32), ShapedArray((3, 4), F32), ShapedArray((), F32)
    assert either.fun_name == "model"
    assert either.in_avals == (w, x, scale)
    assert either.in_tree == pytrees.tree_structure((({"w": 0}, 0), {"scale": 0}))
    assert either.out_avals == (x, ShapedArray((3, 2), F32))
    assert either.out_tree == pytrees.tree_structure({"y": 0, "x": 0})
    assert either.platforms == ("cpu",)
    assert either.nr_devices == 1
    assert either.module_kept_var_idx == (0, 1, 2)
    assert either.in_shardings_hlo == (None,) * 3
    assert either.out_shardings_hlo == (None,) * 2
    assert either.calling_convention_version == 10
    assert either.ordered_effects == either.unordered_effects == ()
    assert either.disabled_safety_checks == ()
    assert either.uses_global_constants is False
    assert either.mlir_module_serialized.startswith(b"ML\xefR")
    assert "func.func public @main(%arg0: tensor<4x2xf32>" in either.mlir_module()
    assert repr(either) == "Exported(fun_name=model, ...)"
    assert either.has_vjp()


def test_exported_functions_return_the_same_results(either):
    expected = model(PARAMS, X, scale=F32(2))
    for call in (either.call, jit(either.call)):
        result = call(PARAMS, X, scale=F32(2))
        assert np.array_equal(result["y"], expected["y"])
        assert np.array_equal(result["x"], X)
    twice = jit(
        lambda x: lax.add(*[either.call(PARAMS, x, scale=s)["y"] for s in (F32(1), F32(2))])
    )
    assert np.allclose(twice(X), 1.5 * np.asarray(expected["y"]))
    assert twice.lower(X).as_text().count("func.func private @call_exported_model") == 1


def test_mismatched_arguments_raise(either):
    with pytest.raises(
        ValueError, match=r"same pytree structure as when the function 'model'"
    ) as e:
        either.call(PARAMS, X)
    assert "kwargs is <class 'dict'> with 0 children in the invocation" in str(e.value)
    with pytest.raises(
        ValueError, match=r"mismatch for args\[0\]\['w'\]\S* .*: expected \(4, 2\) .* \(2, 2\)"
    ):
        either.call({"w": PARAMS["w"][:2]}, X, scale=F32(2))
    with pytest.raises(ValueError, match=r"Dtype mismatch for kwargs\['scale'\]: expected float32"):
        either.call(PARAMS, X, scale=2)


def test_derivatives_equal_those_of_the_original(either):
    def loss(call):
        return lambda params, x: lax.reduce_sum(call(params, x, scale=F32(2))["y"], (0, 1))

    expected = grad(loss(model), argnums=(0, 1))(PARAMS, X)
    for gradient in (grad(loss(either.call), argnums=(0, 1)), jit(grad(loss(either.call), (0, 1)))):
        actual = gradient(PARAMS, X)
        assert np.allclose(actual[0]["w"], expected[0]["w"], rtol=1e-5)
        assert np.allclose(actual[1], expected[1], rtol=1e-5)


def test_second_derivatives_equal_those_of_the_original(either):
    def second(call):
        def first(x):
            _, pull_back = vjp(lambda x: call(PARAMS, x, scale=F32(2))["y"], x)
            return lax.reduce_sum(pull_back(np.ones((3, 2), F32))[0], (0, 1))

        return grad(first)(X)

    assert np.allclose(second(either.call), second(model), rtol=1e-4, atol=1e-5)


def test_vjp_as_an_exported_function(exported):
    derivative = exported.vjp()
    assert derivative.in_avals == (*exported.in_avals, *exported.out_avals)
    assert derivative.out_avals == exported.in_avals
    assert derivative.fun_name == "model_vjp"
    once = deserialize(exported.serialize(vjp_order=1))
    assert once.has_vjp()
    assert not once.vjp().has_vjp()
    never = deserialize(exported.serialize())
    assert not never.has_vjp()
    with pytest.raises(ValueError, match=r"No VJP is available.*vjp_order=1"):
        never.vjp()
    with pytest.raises(ValueError, match="vjp_order must be 0 or positive"):
        exported.serialize(vjp_order=-1)


def test_integers_have_no_derivative():
    function = jit(lambda x, n: (lax.mul(x, lax.convert_element_type(n, F32)), lax.add(n, n)))
    exported = export.export(function)(F32(3), np.int32(2))
    exported = deserialize(exported.serialize(vjp_order=1))
    value, pull_back = vjp(lambda x: exported.call(x, np.int32(4))[0], F32(3))
    assert value == 12
    assert pull_back(F32(1)) == (4,)


def test_unsupported_transformations_raise(exported):
    with pytest.raises(NotImplementedError, match=r"call_exported` has no batching rule.*lax\.map"):
        vmap(lambda x: exported.call(PARAMS, x, scale=F32(2)))(np.ones((2, 3, 4), F32))
    with pytest.raises(TypeError):
        jvp(lambda x: exported.call(PARAMS, x, scale=F32(2)), (X,), (X,))


def test_the_program_text(exported):
    text = str(make_olympuspr(lambda x: exported.call(PARAMS, x, scale=F32(2)))(X))
    assert "call_exported[" in text
    assert "exported=Exported(fun_name=model, ...)" in text
    assert "bwd=model_flat_vjp_bwd" in text


# ---- platforms ----


def test_for_several_platforms():
    exported = export.export(jit(differing_p.bind), platforms=("tpu", "cuda", "cpu"))(X)
    exported = deserialize(exported.serialize())
    assert exported.platforms == ("tpu", "cuda", "cpu")
    assert exported.uses_global_constants
    assert '%arg0: tensor<i32> {jax.global_constant = "_platform_index"}' in exported.mlir_module()
    assert np.allclose(exported.call(X), np.sin(X), atol=1e-6)
    caller = jit(lambda x: lax.add(exported.call(x), differing_p.bind(x)))
    assert np.allclose(caller(X), 2 * np.sin(X), atol=1e-6)
    lowered = caller.lower(X, lowering_platforms=("cpu", "tpu"))
    assert lowered.compiler_ir().operation.verify()
    for platforms in (("cpu", "rocm"), ("rocm",)):
        with pytest.raises(ValueError, match=r"exported for platforms .* but it is used on"):
            caller.lower(X, lowering_platforms=platforms)


def test_calling_on_an_absent_platform_raises():
    cuda = export.export(jit(lax.sin), platforms=("cuda",))
    with pytest.raises(ValueError, match=r"exported for platforms '.'cuda',.' but it is used on"):
        cuda(X).call(X)
    unchecked = export.export(
        jit(lax.sin), platforms=("cuda",), disabled_checks=[DisabledSafetyCheck.platform()]
    )(X)
    for each in (unchecked, deserialize(unchecked.serialize())):
        assert np.allclose(each.call(X), np.sin(X), atol=1e-6)


def test_invalid_platforms_raise():
    with pytest.raises(TypeError, match="platforms must be a sequence of platforms' names"):
        export.export(jit(lax.sin), platforms="cpu")
    with pytest.raises(ValueError, match="platforms is empty"):
        export.export(jit(lax.sin), platforms=())
    assert export.default_export_platform() == "cpu"


# ---- what is in the module ----


def test_unused_and_large_values():
    table = np.arange(5000, dtype=F32)  # too large to be a constant of a module that runs here
    exported = export.export(jit(lambda unused, x: lax.add(x, device_put(table))))(X, table)
    assert exported.module_kept_var_idx == (1,)
    again = deserialize(exported.serialize())
    assert np.array_equal(again.call(X, table), 2 * table)


def test_static_and_donated_arguments():
    function = jit(lambda x, n: lax.mul(x, float(n)), static_argnums=1, donate_argnums=0)
    exported = export.export(function)(X, 3)
    assert exported.in_avals == (ShapedArray((3, 4), F32),)
    assert "tf.aliasing_output" in exported.mlir_module()
    x = device_put(X)
    assert np.array_equal(exported.call(x), 3 * X)
    assert not x.is_deleted()


def test_function_names_do_not_collide(devices):
    @jit
    def main(x):
        return lax.sin(x)

    @jit
    def helper(x):
        return lax.cos(main(x))

    exported = export.export(jit(lambda x: main(helper(x))))(X)
    again = export.export(jit(lambda x: helper(exported.call(main(x)))))(X)
    caller = jit(lambda x: main(helper(again.call(exported.call(x)))))
    assert caller.lower(X).compiler_ir().operation.verify()
    expected = X
    for function in (
        np.sin, np.cos, np.sin,  # exported
        np.sin, np.sin, np.cos, np.sin, np.sin, np.cos,  # again
        np.sin, np.cos, np.sin,
    ):  # fmt: skip
        expected = function(expected)
    assert np.allclose(caller(X), expected, atol=1e-5)


def test_foreign_functions_without_guarantee_raise():
    call = ffi.ffi_call("unstable_function", ShapeDtypeStruct((3, 4), F32), has_side_effect=True)
    with pytest.raises(ValueError, match=r"no compatibility guarantees(.|\n)*@unstable_function"):
        export.export(jit(call))(X)
    allowed = DisabledSafetyCheck.custom_call("unstable_function")
    exported = export.export(jit(call), disabled_checks=[allowed])(X)
    again = deserialize(exported.serialize())
    assert again.disabled_safety_checks == (allowed,)
    assert len(again.unordered_effects) == 1
    assert "custom_call @unstable_function" in jit(again.call).lower(X).as_text()
    stable = ffi.ffi_call("lapack_spotrf_ffi", ShapeDtypeStruct((3, 4), F32))
    assert export.export(jit(stable))(X)


def test_disabled_checks_are_values():
    check = DisabledSafetyCheck.custom_call("f")
    assert check == DisabledSafetyCheck.custom_call("f")
    assert hash(check) == hash(DisabledSafetyCheck.custom_call("f"))
    assert check != DisabledSafetyCheck.platform()
    assert check.is_custom_call() == "f"
    assert DisabledSafetyCheck.platform().is_custom_call() is None
    assert repr(check) == "custom_call:f"


def test_callbacks_cannot_be_exported():
    function = jit(lambda x: pure_callback(np.sin, X, x))
    with pytest.raises(NotImplementedError, match=r"calls back into Python.*cannot be exported"):
        export.export(function)(X)


def test_non_jitted_functions_raise():
    for function in (lax.sin, 3):
        with pytest.raises(ValueError, match="must be the result of `jit` but is"):
            export.export(function)


def test_calling_convention_versions():
    assert export.minimum_supported_calling_convention_version == 9
    assert export.maximum_supported_calling_convention_version == 10
    flag = export_calling_convention_version
    before = flag.value
    try:
        flag.update(9)
        assert export.export(jit(lax.sin))(X).calling_convention_version == 9
        flag.update(11)
        with pytest.raises(ValueError, match=r"version 11 is outside the range .*\[9\.\.10\]"):
            export.export(jit(lax.sin))
    finally:
        flag.update(before)


# ---- several devices ----


def test_over_several_devices(mesh):
    rows, columns = NamedSharding(mesh, PartitionSpec("x")), NamedSharding(mesh, PartitionSpec("y"))
    x = np.arange(16, dtype=F32).reshape(4, 4)
    function = jit(
        lambda a, b: lax.sin(lax.dot(a, b)), in_shardings=(rows, None), out_shardings=rows
    )
    exported = export.export(function)(x, x)
    for each in (exported, deserialize(exported.serialize(vjp_order=1))):
        assert each.nr_devices == 4
        assert each.in_shardings_jax(mesh) == (rows, None)
        assert each.out_shardings_jax(mesh) == (rows,)
        result = each.call(device_put(x, columns), x)
        assert result.sharding == rows
        assert np.allclose(result, np.sin(x @ x), atol=1e-5)
        gradient = grad(lambda a: lax.reduce_sum(each.call(a, x), (0, 1)))(device_put(x, rows))  # noqa: B023
        assert np.allclose(gradient, np.cos(x @ x) @ x.T, atol=1e-3)
        with pytest.raises(ValueError, match=r"exported for 4 devices .* context with 1 devices"):
            each.call(x, x)
    one = export.export(jit(lax.sin))(x)
    assert np.allclose(one.call(device_put(x, rows)), np.sin(x), atol=1e-6)
    assert one.in_shardings_jax(mesh) == (None,)


def test_over_a_mesh_of_another_shape(devices, mesh):
    flat = make_mesh((4,), ("z",), (AxisType.Auto,), devices=devices)
    x = np.arange(16, dtype=F32).reshape(4, 4)
    rows = NamedSharding(mesh, PartitionSpec("x"))
    exported = export.export(jit(lax.sin, in_shardings=rows))(x)
    result = exported.call(device_put(x, NamedSharding(flat, PartitionSpec("z"))))
    assert np.allclose(result, np.sin(x), atol=1e-6)
    with pytest.raises(ValueError, match="exported for 4 devices, and the mesh"):
        exported.in_shardings_jax(make_mesh((2,), ("z",), devices=devices[:2]))


# ---- the file ----

Pair = collections.namedtuple("Pair", "first second")


class Point:
    def __init__(self, x, unit):
        self.x, self.unit = x, unit


pytrees.register_pytree_node(Point, lambda p: ((p.x,), p.unit), lambda unit, xs: Point(*xs, unit))


def test_structures_survive_serialization():
    def function(tree):
        return tree

    tree = ({"b": [X, None], "a": ()}, collections.OrderedDict(z=X, y=X))
    exported = deserialize(export.export(jit(function))(tree).serialize())
    assert exported.in_tree == pytrees.tree_structure(((tree,), {}))
    for unregistered in (Pair(X, X), Point(X, "m")):
        once = export.export(jit(function))(unregistered)
        with pytest.raises(ValueError, match=r"unregistered type .*Use `export.register_pytree"):
            once.serialize()
    assert export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair") is Pair
    export.register_pytree_node_serialization(
        Point,
        serialized_name="tests.Point",
        serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode,
    )
    exported = deserialize(export.export(jit(function))(Pair(X, Point(X, "m"))).serialize())
    result = exported.call(Pair(X, Point(X, "m")))
    assert isinstance(result, Pair)
    assert result.second.unit == "m"
    with pytest.raises(ValueError, match="Duplicate serialization registration for type"):
        export.register_namedtuple_serialization(Pair, serialized_name="tests.OtherPair")
    with pytest.raises(ValueError, match="is not a named tuple"):
        export.register_namedtuple_serialization(dict, serialized_name="tests.dict")
    with pytest.raises(TypeError, match="with string keys. Found key 3 of type <class 'int'>"):
        export.export(jit(function))({3: X}).serialize()


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "float8_e4m3fn", "complex64", "bool"])
def test_dtypes_survive_serialization(dtype):
    exported = export.export(jit(lambda x: x))(ShapeDtypeStruct((2,), dtype))
    again = deserialize(exported.serialize())
    assert again.in_avals == exported.in_avals
    assert again.out_avals[0].dtype == exported.in_avals[0].dtype


def test_invalid_bytes_raise():
    blob = bytes(export.export(jit(lax.sin))(X).serialize())
    for bad, complaint in [
        (b"hello", "not an exported function of OLYMPUS"),
        (blob[:20], "cut off after 20 bytes"),
        (blob[:-1], "damaged or cut off"),
        (blob[:-1] + b"x", "damaged or cut off"),
        (blob[:16] + b"\x07" + blob[17:], "in version 7 of the format"),
    ]:
        with pytest.raises(ValueError, match=complaint):
            deserialize(bad)


def test_in_another_process(exported, run_python, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(exported.serialize(vjp_order=1))
    code = f"""
import numpy as np
import olympus_export as export
from olympus_autodiff import grad
from olympus_ir import lax
with open({os.fspath(path)!r}, "rb") as file:
    model = export.deserialize(file.read())
x = np.arange(12, dtype=np.float32).reshape(3, 4)
params = {{"w": np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2)}}
print(float(lax.reduce_sum(model.call(params, x, scale=np.float32(2))["y"], (0, 1))))
def loss(x): return lax.reduce_sum(model.call(params, x, scale=np.float32(2))["y"], (0, 1))
print(float(grad(loss)(x)[0, 0]))
"""
    total, slope = map(float, run_python(code).split())
    assert total == pytest.approx(np.sum(2 * np.sin(X @ PARAMS["w"])), rel=1e-5)
    assert slope == pytest.approx((2 * np.cos(X @ PARAMS["w"]) @ PARAMS["w"].T)[0, 0], rel=1e-5)


def test_shardings_over_abstract_meshes():
    mesh = AbstractMesh((2,), ("x",))
    spec = ShapeDtypeStruct((4, 4), np.float32, sharding=NamedSharding(mesh, PartitionSpec("x")))
    exported = export.export(jit(lax.sin))(spec)
    assert exported.nr_devices == 2
    mesh = Mesh(np.array(devices()[2:4]), ("x",))
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    placed = device_put(x, NamedSharding(mesh, PartitionSpec(None, "x")))
    result = exported.call(placed)
    np.testing.assert_allclose(result, np.sin(x), rtol=1e-6)
    assert result.sharding.device_set == set(mesh.devices.flat)
    too_many = NamedSharding(AbstractMesh((512,), ("x",)), PartitionSpec("x"))
    with pytest.raises(ValueError, match="needs 512 devices"):
        export.export(jit(lax.sin))(ShapeDtypeStruct((512,), np.float32, sharding=too_many))


def test_shape_mismatch_error_names_the_argument():
    exported = export.export(jit(lambda x, *, y: x))(
        np.ones(3, np.float32), y=np.ones(2, np.float32)
    )
    with pytest.raises(ValueError, match=r"Shape mismatch for kwargs\['y'\].shape\[0\]"):
        exported.call(np.ones(3, np.float32), y=np.ones(4, np.float32))


def test_large_sorts_do_not_call_this_process():
    x = np.random.default_rng(0).normal(size=5000).astype(F32)
    exported = export.export(jit(lambda x: lax.sort(x)))(x)
    assert "stablehlo.sort" in exported.mlir_module()
    assert "custom_call" not in exported.mlir_module()
    assert np.array_equal(deserialize(exported.serialize()).call(x), np.sort(x))


# ---- linear algebra ----

_EXPORTED_ELSEWHERE = """
import sys
import numpy as np
from olympus_export import deserialize
x = np.array([[2, 1], [1, 2]], np.float32)
exported = deserialize(open(sys.argv[1], "rb").read())
print(np.asarray(exported.call(x)).round(3).tolist())
"""


def test_exported_programs_bring_routines_with_them(tmp_path):
    # In a process that has compiled no linear algebra of its own.
    x = np.array([[2, 1], [1, 2]], np.float32)
    serialized = export.export(jit(lambda x: linalg.eigh(x)[1]))(x).serialize()
    path = tmp_path / "exported"
    path.write_bytes(serialized)
    command = [sys.executable, "-c", _EXPORTED_ELSEWHERE, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.strip() == "[1.0, 3.0]"


def test_types_of_files_have_layouts_and_memories(mesh, devices):
    explicit = make_mesh((2, 2), ("x", "y"), (AxisType.Explicit,) * 2, devices=devices[:4])
    placed = NamedSharding(explicit, PartitionSpec("x", None))
    host = NamedSharding(mesh, PartitionSpec("x"), memory_kind="pinned_host")
    summed = export.export(jit(lambda x: x.sum(1)))(ShapeDtypeStruct((4, 4), F32, sharding=placed))
    kept = export.export(jit(lambda x: x, in_shardings=host, out_shardings=host))(
        device_put(np.zeros((4, 4), F32), host)
    )
    for before in (summed, kept):
        after = deserialize(before.serialize())
        assert after.in_avals == before.in_avals
        assert after.out_avals == before.out_avals
        for name in ("_in_named_shardings", "_out_named_shardings"):
            for left, right in zip(getattr(after, name), getattr(before, name), strict=True):
                assert left == right
                assert left.memory_kind == right.memory_kind
                assert left.mesh.abstract_device == right.mesh.abstract_device
    assert str(deserialize(summed.serialize()).in_avals[0]) == "float32[4@x,4]"
    assert str(deserialize(kept.serialize()).in_avals[0]) == "float32<host>[4,4]"


def test_invalid_registrations_raise():
    class Opaque:
        pass

    def register(nodetype, **more):
        return export.register_pytree_node_serialization(
            nodetype,
            serialized_name="checked",
            serialize_auxdata=lambda _: b"",
            deserialize_auxdata=lambda _: None,
            **more,
        )

    with pytest.raises(ValueError, match="If `from_children` is not present, you must call first"):
        register(Opaque)
    assert register(Opaque, from_children=lambda _, children: Opaque()) is Opaque
    with pytest.raises(TypeError, match="must be a class, got 3"):
        export.register_namedtuple_serialization(3, serialized_name="three")
    with pytest.raises(ValueError, match="register_pytree_node_serialization` for types other"):
        export.register_namedtuple_serialization(tuple, serialized_name="plain")
    keyed = export.export(jit(lambda x: x))({1: F32(2)})
    with pytest.raises(TypeError, match="only for dictionaries with string keys. Found key 1"):
        keyed.serialize()


def test_damaged_files_raise():
    blob = bytes(export.export(jit(lambda x: lax.sin(x)))(X).serialize())
    for position in range(len(blob)):
        damaged = bytearray(blob)
        damaged[position] ^= 0x55
        with pytest.raises(ValueError, match="deserialize"):
            deserialize(damaged)
        with pytest.raises(ValueError, match="deserialize"):
            deserialize(blob[:position])


def with_header(blob, change):
    """Returns an exported function with another header and a checksum that fits it."""
    start = len(file_format.MAGIC) + file_format.LENGTHS.size
    version, _, length = file_format.LENGTHS.unpack_from(blob, len(file_format.MAGIC))
    header = json.loads(blob[start : start + length])
    change(header["exported"])
    encoded = json.dumps(header).encode()
    body = encoded + blob[start + length :]
    lengths = file_format.LENGTHS.pack(version, zlib.crc32(body), len(encoded))
    return file_format.MAGIC + lengths + body


def test_inconsistent_files_raise():
    blob = bytes(export.export(jit(lambda x: lax.sin(x)))(X).serialize())
    assert np.allclose(deserialize(with_header(blob, lambda fields: None)).call(X), np.sin(X))
    names = ("in_avals", "out_avals", "in_tree", "platforms", "module", "module_kept_var_idx")
    for name in names:
        with pytest.raises(ValueError, match=f"function is damaged: it lacks '{name}'"):
            deserialize(with_header(blob, lambda fields, name=name: fields.pop(name)))
    for name in ("in_avals", "platforms"):
        with pytest.raises(ValueError, match="is damaged: a field has a value of another kind"):
            deserialize(with_header(blob, lambda fields, name=name: fields.update({name: None})))
    with pytest.raises(ValueError, match="its fields do not fit"):
        deserialize(with_header(blob, lambda fields: fields.update(module_kept_var_idx=[0, 1])))

    def retype(fields):
        fields["in_avals"][0][0] = [5, 5]

    wrong = deserialize(with_header(blob, retype))
    with pytest.raises(ValueError, match="is damaged: its main function has the types"):
        wrong.call(np.zeros((5, 5), F32))


def test_untrusted_custom_calls_raise_before_execution():
    allowed = DisabledSafetyCheck.custom_call("stranger")
    function = jit(ffi.ffi_call("stranger", ShapeDtypeStruct((3, 4), F32)))
    blob = bytes(export.export(function, disabled_checks=[allowed])(X).serialize())
    refused = deserialize(
        with_header(blob, lambda fields: fields.update(disabled_safety_checks=[]))
    )
    with pytest.raises(ValueError, match="custom calls whose targets have no compatibility"):
        refused.call(X)


@pytest.mark.parametrize(
    "tree",
    [
        {"kind": "dict", "keys": ["a"], "children": [None, None]},
        {"kind": "dict", "keys": ["a", "a"], "children": [None, None]},
        {"kind": "dict", "keys": [1], "children": [None]},
        {"kind": "dict", "keys": "a", "children": [None, None]},
        {
            "kind": "custom",
            "name": "collections.OrderedDict",
            "auxdata": "YQ==",
            "children": [None, None],
        },
    ],
)
def test_trees_with_mismatched_keys_raise(tree):
    with pytest.raises(ValueError, match="a dictionary of . values has the keys"):
        trees.tree_from_json(tree)


def test_pickles_of_exported_functions(exported):
    loaded = pickle.loads(pickle.dumps(exported))
    np.testing.assert_allclose(
        loaded.call(PARAMS, X, scale=F32(2))["y"], exported.call(PARAMS, X, scale=F32(2))["y"]
    )
    assert not loaded.has_vjp()
