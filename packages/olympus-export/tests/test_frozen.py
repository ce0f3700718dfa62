# SPDX-License-Identifier: Apache-2.0
"""Frozen functions: values, files, and reading of the files by other programs."""

import json
import pickle
import struct

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_export import Frozen, freeze, load_frozen, symbolic_shape
from olympus_export.frozen import safetensors
from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.callbacks import pure_callback
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_xla import device_put, jit

F32 = np.float32
X = np.linspace(-1, 1, 12, dtype=F32).reshape(3, 4)
W = np.linspace(0, 1, 8, dtype=F32).reshape(4, 2)
B = np.array([0.5, -0.5], F32)


def model(params, x, *, scale):
    y = lax.tanh(lax.add(lax.dot(x, params["w"]), lax.broadcast_in_dim(params["b"], (3, 2), (1,))))
    return {"y": lax.mul(y, lax.full_like(y, scale)), "x": x}


def expected(scale):
    return np.tanh(X @ W + B) * scale


def closed():
    weights = device_put(W)
    return jit(lambda x: lax.sin(lax.dot(x, weights)))


@pytest.fixture(scope="module")
def frozen():
    return freeze(model, {"w": W, "b": B}, X, scale=F32(2), weights=0)


@pytest.fixture(params=["as it is", "inside", "beside", "pickled"])
def either(request, frozen, tmp_path):
    if request.param == "as it is":
        return frozen
    if request.param == "pickled":
        return pickle.loads(pickle.dumps(frozen))
    frozen.save(tmp_path / "model", weights=request.param)
    return load_frozen(tmp_path / "model")


def test_frozen_functions_return_the_same_results(either):
    result = either(X, scale=F32(3))
    np.testing.assert_allclose(result["y"], expected(3), rtol=1e-5)
    np.testing.assert_array_equal(result["x"], X)
    np.testing.assert_allclose(either.call_flat(X, F32(3))[1], expected(3), rtol=1e-5)


def test_attributes_of_frozen_functions(either):
    assert either.name == "model"
    assert either.platforms == ("cpu",)
    assert [tuple(port) for port in either.operands] == [
        ("params.b", (2,), "float32", True),
        ("params.w", (4, 2), "float32", True),
        ("x", (3, 4), "float32", False),
        ("scale", (), "float32", False),
    ]
    assert [port.name for port in either.outputs] == ["x", "y"]
    np.testing.assert_array_equal(either.weights["params.w"], W)
    assert repr(either).startswith("Frozen(model, 2 inputs, 2 outputs, 2 weights of 40 bytes")
    assert "stablehlo.tanh" in either.mlir_module()


def test_arrays_that_function_refers_to_are_weights():
    found = freeze(closed(), X)
    assert list(found.weights) == ["closure.0"]
    assert "dense<" not in found.mlir_module().replace("dense<0", "")
    np.testing.assert_allclose(found(X), np.sin(X @ W), rtol=1e-5)


def test_transformations_of_frozen_functions_raise(frozen):
    with pytest.raises(NotImplementedError, match="export the batched function"):
        vmap(lambda row: frozen(row, scale=F32(1)))(np.stack([X, X]))
    jitted = jit(lambda x: frozen(lax.mul(x, F32(1)), scale=F32(1))["y"])
    np.testing.assert_allclose(jitted(X), expected(1), rtol=1e-5)
    with pytest.raises(ValueError, match="No VJP is available"):
        loaded = Frozen.from_bytes(frozen.to_bytes())
        grad(lambda x: lax.reduce_sum(loaded(x, scale=F32(1))["y"], (0, 1)))(X)


def test_symbolic_sizes_and_several_platforms():
    sized = ShapeDtypeStruct(symbolic_shape("b, 4"), F32)
    found = Frozen.from_bytes(freeze(closed(), sized, platforms=("cpu", "tpu")).to_bytes())
    assert found.inputs[0].shape == ("b", 4)
    for rows in (1, 3):
        np.testing.assert_allclose(found(X[:rows]), np.sin(X[:rows] @ W), rtol=1e-5)


def test_static_arguments_are_frozen():
    jitted = jit(lambda x, n: lax.mul(x, F32(n)), static_argnums=1)
    np.testing.assert_allclose(freeze(jitted, X, 3)(X), X * 3)
    with pytest.raises(ValueError, match="static arguments"):
        freeze(jitted, X, 3, weights=0)


def test_serialization_is_deterministic(frozen):
    assert frozen.to_bytes() == frozen.to_bytes()
    assert Frozen.from_bytes(frozen.to_bytes()).to_bytes() == frozen.to_bytes()


def test_save_replaces_an_existing_file(frozen, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    frozen.save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["model"]
    assert path.read_bytes() == frozen.to_bytes()


# ---- refusals ----


def test_errors_of_wrong_arguments():
    with pytest.raises(TypeError, match="takes a function"):
        freeze(3)
    with pytest.raises(ValueError, match="names the argument 2"):
        freeze(model, {"w": W, "b": B}, X, scale=1.0, weights=2)
    with pytest.raises(ValueError, match="must be arrays, but .* is a ShapeDtypeStruct"):
        freeze(lax.sin, ShapeDtypeStruct((3,), F32), weights=0)
    with pytest.raises(NotImplementedError, match="calls back into Python"):
        freeze(lambda x: pure_callback(np.sin, ShapeDtypeStruct((3, 4), F32), x), X)


def test_invalid_arguments_raise(frozen, tmp_path):
    with pytest.raises(ValueError, match=r"Shape mismatch for args\[1\]\[0\]"):
        frozen(X[:2], scale=F32(1))
    with pytest.raises(ValueError, match=r"takes 2 inputs \(x, scale\), got 1"):
        frozen.call_flat(X)
    with pytest.raises(ValueError, match="`weights` must be"):
        frozen.save(tmp_path / "f", weights="outside")


def resealed(contents, change):
    """Returns the file after a change, with the digest recomputed."""
    from olympus_export.frozen import container

    arrays, metadata = safetensors.read(contents)
    change(arrays, metadata)
    metadata["digest"] = container._digest(arrays, metadata)
    return safetensors.write(arrays, metadata)


def changed_signature(field, value):
    def change(arrays, metadata):
        signature = json.loads(metadata["signature"])
        signature[field] = value
        metadata["signature"] = json.dumps(signature)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays, metadata: metadata.update(format="pt"), "its format is 'pt'"),
        (lambda arrays, metadata: metadata.update(version="9"), "in version '9'"),
        (lambda arrays, metadata: metadata.pop("signature"), "lacks 'signature'"),
        (lambda arrays, metadata: arrays.pop("params.w"), "lacks 'params.w'"),
        (lambda arrays, metadata: arrays.update({"params.w": W.T}), "the weight params.w"),
        (lambda arrays, metadata: metadata.update(operands="[]"), "names 0 operands"),
        (changed_signature("in_avals", []), "do not fit"),
        (changed_signature("platforms", 3), "a value of another kind"),
        (
            lambda arrays, metadata: metadata.update(weights_file="../x", weights_digest=""),
            "not in the same folder",
        ),
        (
            lambda arrays, metadata: metadata.update(weights_file="x", weights_digest=""),
            "use load_frozen",
        ),
    ],
)
def test_inconsistent_files_raise(frozen, change, message):
    with pytest.raises(ValueError, match=message):
        Frozen.from_bytes(resealed(frozen.to_bytes(), change))


def test_each_changed_byte_raises(frozen):
    contents = frozen.to_bytes()
    for place in np.random.default_rng(0).integers(0, len(contents), 200):
        damaged = bytearray(contents)
        damaged[place] ^= 0x11
        with pytest.raises(ValueError, match=r"."):
            Frozen.from_bytes(bytes(damaged))


def test_unknown_custom_calls_raise(frozen):
    def change(arrays, metadata):
        other = freeze(
            lambda x: linalg.cholesky(lax.dot(x, lax.transpose(x, (1, 0)))), X
        ).module.replace(b"lapack_spotrf_ffi", b"not_known_to_all_")
        arrays["olympus.module"] = np.frombuffer(other, np.uint8)
        metadata["signature"] = json.dumps(
            {**json.loads(metadata["signature"]), "out_avals": [[[3, 3], "float32", False]] * 2}
        )

    with pytest.raises(ValueError, match="damaged|custom calls"):
        Frozen.from_bytes(resealed(frozen.to_bytes(), change))(X, scale=F32(1))


def test_weights_in_a_separate_file_must_match(frozen, tmp_path):
    frozen.save(tmp_path / "model", weights="beside")
    beside = tmp_path / "model.weights.safetensors"
    np.testing.assert_array_equal(safetensors.read(beside.read_bytes()).arrays["params.b"], B)
    beside.write_bytes(safetensors.write({"params.w": W * 2, "params.b": B}, {}))
    with pytest.raises(ValueError, match="damaged, or are those of another function"):
        load_frozen(tmp_path / "model")
    beside.unlink()
    with pytest.raises(FileNotFoundError):
        load_frozen(tmp_path / "model")


# ---- other programs ----

# Runs a file with jaxlib alone. A program in C++ does the same with the PJRT API of its platform.
RUNNER = """
import json, os, struct, sys
import numpy as np
from jaxlib import xla_client
contents = open(os.environ["FILE"], "rb").read()
(length,) = struct.unpack_from("<Q", contents)
header, data = json.loads(contents[8 : 8 + length]), contents[8 + length :]
metadata = header.pop("__metadata__")
kinds = {"F32": np.float32, "U8": np.uint8}
arrays = {
    name: np.frombuffer(data[slice(*entry["data_offsets"])], kinds[entry["dtype"]]).reshape(
        entry["shape"]
    )
    for name, entry in header.items()
}
client = xla_client.make_cpu_client()
device = client.devices()[0]
options = xla_client.CompileOptions.ParseFromString(arrays["olympus.compile_options"].tobytes())
executable = client.compile_and_load(
    arrays["olympus.module"].tobytes(), xla_client.DeviceList((device,)), options
)
inputs = {"x": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), "scale": np.float32(3)}
operands = [
    arrays[each["name"]] if each["is_weight"] else inputs[each["name"]]
    for each in json.loads(metadata["operands"])
]
class Buffer:
    def __init__(self, buffer):
        self.buffer = buffer
    def __dlpack__(self, **options):
        return xla_client._xla.buffer_to_dlpack_managed_tensor(self.buffer, stream=None)
    def __dlpack_device__(self):
        return 1, 0
results = executable.execute([
    xla_client._xla.dlpack_managed_tensor_to_buffer(np.array(value).__dlpack__(), device, None)
    for value in operands
])
names = [each["name"] for each in json.loads(metadata["results"])]
values = {name: np.from_dlpack(Buffer(result)) for name, result in zip(names, results)}
assert not [name for name in sys.modules if name.startswith(("olympus", "jax."))]
print(json.dumps(values["y"].tolist()))
"""


def test_file_runs_without_olympus(frozen, tmp_path, run_python):
    frozen.save(tmp_path / "model")
    printed = run_python(RUNNER, FILE=str(tmp_path / "model"))
    np.testing.assert_allclose(json.loads(printed), expected(3), rtol=1e-5)


def test_file_runs_in_another_process(frozen, tmp_path, run_python):
    frozen.save(tmp_path / "model", weights="beside")
    printed = run_python(
        "import os\n"
        "import numpy as np\n"
        "from olympus_export import load_frozen\n"
        "x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)\n"
        "result = load_frozen(os.environ['FILE'])(x, scale=np.float32(3))\n"
        "print(np.asarray(result['y']).tolist())\n",
        FILE=str(tmp_path / "model"),
    )
    np.testing.assert_allclose(json.loads(printed), expected(3), rtol=1e-5)


def test_wrong_header_length_raises():
    with pytest.raises(ValueError, match="the header claims"):
        Frozen.from_bytes(struct.pack("<Q", 2**62) + bytes(100))
