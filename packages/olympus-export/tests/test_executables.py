# SPDX-License-Identifier: Apache-2.0
"""Serialized executables and functions in files, and invalid input for them."""

import pickle

import numpy as np
import pytest

from olympus_export.executables import deserialize_and_load, serialize
from olympus_export.ir_files import (
    main,
    olympus_to_hlo,
    olympus_to_ir,
    olympus_to_tf,
    parse_shape_str,
)
from olympus_ir import lax
from olympus_ir.lax.callbacks import pure_callback
from olympus_ir.settings import config_cache_flags
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding import NamedSharding, PartitionSpec
from olympus_xla import clear_caches, device_put, jit

F32 = np.float32
X = np.arange(3, dtype=F32)


def test_executables_survive_serialization():
    compiled = jit(lambda x, y: {"sum": lax.add(x, y["b"])}).lower(X, {"b": X}).compile()
    data, in_tree, out_tree = serialize(compiled)
    assert isinstance(data, bytes)
    loaded = deserialize_and_load(data, in_tree, out_tree)
    np.testing.assert_array_equal(loaded(X, {"b": X})["sum"], 2 * X)
    assert loaded.in_tree == compiled.in_tree
    assert loaded.input_shardings == compiled.input_shardings
    assert loaded.as_text() == compiled.as_text()
    with pytest.raises(TypeError, match=r"'x' compiled with float32\[3\] and called with"):
        loaded(np.zeros(4, F32), {"b": X})


def test_unused_operands_and_large_constants():
    table = np.arange(5000, dtype=F32)
    compiled = jit(lambda x, y: lax.reduce_sum(lax.mul(table, x), (0,))).lower(F32(1), X).compile()
    loaded = deserialize_and_load(*serialize(compiled))
    np.testing.assert_allclose(loaded(F32(2), X), 2 * table.sum(), rtol=1e-5)


def test_executables_from_the_disk_cache(tmp_path):
    flags = config_cache_flags
    changed = {
        flags.compilation_cache_dir: str(tmp_path),
        flags.persistent_cache_min_compile_time_secs: 0.0,
    }
    before = {flag: flag.value for flag in changed}
    for flag, value in changed.items():
        flag.update(value)
    try:
        for _ in range(2):
            clear_caches()
            compiled = jit(lambda x: lax.reduce_sum(lax.sin(x), (0,))).lower(X).compile()
            loaded = deserialize_and_load(*serialize(compiled))
            np.testing.assert_allclose(loaded(X), np.sin(X).sum(), rtol=1e-6)
        assert len(list(tmp_path.iterdir())) == 1
    finally:
        for flag, value in before.items():
            flag.update(value)


def test_loading_onto_another_device(devices):
    compiled = jit(lax.sin).lower(X).compile()
    loaded = deserialize_and_load(*serialize(compiled), execution_devices=[devices[1]])
    assert loaded(X).devices() == {devices[1]}
    with pytest.raises(ValueError, match="compiled for 1 devices, and execution_devices has 2"):
        deserialize_and_load(*serialize(compiled), execution_devices=devices[:2])


def test_executables_of_several_devices_survive_serialization(mesh):
    x = device_put(np.arange(8, dtype=F32), NamedSharding(mesh, PartitionSpec("x")))
    compiled = jit(lax.sin).lower(x).compile()
    loaded = deserialize_and_load(*serialize(compiled))
    np.testing.assert_allclose(loaded(x), np.sin(np.arange(8)), rtol=1e-5)
    assert loaded(x).sharding == compiled(x).sharding


def test_in_another_process(tmp_path, run_python):
    compiled = jit(lax.cos).lower(X).compile()
    data, in_tree, out_tree = serialize(compiled)
    path = tmp_path / "executable"
    path.write_bytes(pickle.dumps((data, in_tree, out_tree)))
    printed = run_python(
        "import os, pickle\n"
        "import numpy as np\n"
        "from olympus_export.executables import deserialize_and_load\n"
        "loaded = deserialize_and_load(*pickle.load(open(os.environ['FILE'], 'rb')))\n"
        "print(loaded(np.zeros(3, np.float32)).tolist())\n",
        FILE=str(path),
    )
    assert printed == "[1.0, 1.0, 1.0]"


def test_callbacks_cannot_be_serialized():
    kind = ShapeDtypeStruct((3,), F32)
    compiled = jit(lambda x: pure_callback(np.sin, kind, x)).lower(X).compile()
    with pytest.raises(ValueError, match="calls back into Python and cannot be serialized"):
        serialize(compiled)


# ---- programs for other systems ----


def test_parse_shape_str():
    assert parse_shape_str("f32[10, 20]") == ShapeDtypeStruct((10, 20), F32)
    assert parse_shape_str("pred[]") == ShapeDtypeStruct((), np.bool_)
    assert parse_shape_str("s8[0]") == ShapeDtypeStruct((0,), np.int8)
    for bad in ("f32", "foo[2]", "f32[a]", "f32[2,]", "(f32[2],f32[3])"):
        with pytest.raises(ValueError, match="Valid example"):
            parse_shape_str(bad)


def test_order_of_parameters_and_constants():
    shapes = [("y", parse_shape_str("f32[4,2]")), ("x", parse_shape_str("f32[3,4]"))]
    data, text = olympus_to_hlo(
        lambda x, y, z: lax.mul(lax.dot(x, y), z), shapes, constants={"z": F32(3)}
    )
    assert isinstance(data, bytes)
    assert "(f32[4,2]{1,0}, f32[3,4]{1,0})->f32[3,2]{1,0}" in text
    with pytest.raises(ValueError, match="both `input_shapes` and `constants`: x"):
        olympus_to_hlo(lax.sin, [("x", parse_shape_str("f32[]"))], constants={"x": 1})
    with pytest.raises(ValueError, match="no format 'XLA'"):
        olympus_to_ir(lax.sin, [("x", parse_shape_str("f32[]"))], format="XLA")


def test_the_command_writes_an_executable(tmp_path, monkeypatch):
    (tmp_path / "some_program.py").write_text("def f(x, y):\n    return x + y\n")
    monkeypatch.syspath_prepend(tmp_path)
    main(
        [
            "program",
            "--fn=some_program.f",
            "--input_shapes=[('x', 'f32[2]')]",
            "--evaled_constants={'y': '1.5'}",
            f"--ir_dest={tmp_path / 'f.pb'}",
            f"--ir_human_dest={tmp_path / 'f.txt'}",
        ]
    )
    assert (tmp_path / "f.pb").read_bytes()
    assert "constant(1.5)" in (tmp_path / "f.txt").read_text()


def test_missing_tensorflow_raises():
    try:
        import tensorflow  # noqa: F401
    except ImportError:
        with pytest.raises(ValueError, match="requires TensorFlow to be installed"):
            olympus_to_tf(lax.sin, [("x", parse_shape_str("f32[]"))])


def test_damaged_bytes_raise_before_unpickling(monkeypatch):
    data, *trees = serialize(jit(lax.sin).lower(X).compile())

    def refuse(*args, **kwargs):
        raise AssertionError("bytes were unpickled")

    monkeypatch.setattr("olympus_xla.calls.serialized._Unpickler", refuse)
    for place in (0, 20, 40, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 4
        with pytest.raises(ValueError, match="damaged|not a compiled function"):
            deserialize_and_load(bytes(damaged), *trees)
    for end in (0, 10, 30, len(data) - 1):
        with pytest.raises(ValueError, match="damaged|not a compiled function"):
            deserialize_and_load(data[:end], *trees)


def test_pickles_of_compiled_functions():
    compiled = jit(lax.cos).lower(X).compile()
    np.testing.assert_allclose(pickle.loads(pickle.dumps(compiled))(X), np.cos(X), rtol=1e-5)
    with pytest.raises(TypeError, match="a Lowered refers to the Python function"):
        pickle.dumps(jit(lax.cos).lower(X))
