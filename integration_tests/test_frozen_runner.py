# SPDX-License-Identifier: Apache-2.0
"""Frozen functions run by a C++ program through PJRT, without Python.

The environment variable PJRT_PLUGIN names the plugin to test, and PJRT_PLATFORM its platform, such
as "cuda". Otherwise the tests look for a package with a plugin for CPUs.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import export, lax

SOURCE = Path(__file__).parent.parent / "examples" / "frozen_runner" / "run_frozen.cc"
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
PLATFORM = os.environ.get("PJRT_PLATFORM", "cpu")
#: Packages that hold a PJRT plugin for CPUs, and its path in them.
PACKAGES = {
    "fastatomstruct_xla_cpu": "libpjrt_cpu.so",
    "lammps_jax_pjrt_cpu": "pjrt_c_api_cpu_plugin.so",
}

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler (c++, g++, CXX)")


def plugins() -> list[str]:
    """Returns the paths of the plugins that are installed."""
    if "PJRT_PLUGIN" in os.environ:
        return [os.environ["PJRT_PLUGIN"]]
    specs = {name: importlib.util.find_spec(name) for name in PACKAGES}
    found = [Path(spec.origin).parent / PACKAGES[name] for name, spec in specs.items() if spec]
    return [str(path) for path in found if path.exists()]


@pytest.fixture(
    scope="session", params=plugins() or [None], ids=lambda p: Path(p).name if p else "none"
)
def plugin(request):
    if request.param is None:
        pytest.skip("no PJRT plugin: install fastatomstruct-xla-cpu, or set PJRT_PLUGIN")
    return request.param


@pytest.fixture(scope="session")
def runner(tmp_path_factory):
    path = tmp_path_factory.mktemp("runner") / "run_frozen"
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-o", str(path)]
    subprocess.run([COMPILER, str(SOURCE), *options, "-ldl"], check=True, timeout=300)
    return str(path)


def run(runner, plugin, folder, inputs, *more, file="f.frozen"):
    """Runs the program on a frozen file of the folder, and returns what it wrote and printed."""
    given = []
    for name, value in inputs.items():
        np.save(folder / f"in.{name}.npy", value)
        given += ["--input", f"{name}={folder}/in.{name}.npy"]
    words = [runner, plugin, str(folder / file), *given, "--output", str(folder / "out"), *more]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    paths = sorted((folder / "out").glob("*.npy"))
    return {path.stem: np.load(path) for path in paths}, done


rng = np.random.default_rng(0)
X = rng.normal(size=(5, 4)).astype(np.float32)
PARAMS = {"w": rng.normal(size=(4, 3)).astype(np.float32), "b": np.ones(3, np.float32)}
IMAGE = rng.normal(size=(1, 2, 6, 6)).astype(np.float32)
KERNEL = rng.normal(size=(3, 2, 3, 3)).astype(np.float32)


def loss(w, x):
    return jnp.mean(olympus.nn.softmax(x @ w) ** 2)


def iterated(x):
    return lax.fori_loop(0, 10, lambda _, c: jnp.cos(c) + 0.1 * x, x)


def until(x):
    return lax.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2, c[1] + 1), (x, 0))


def several(x):
    return {"sum": x.sum(), "parts": [x[0], x[:0], x > 0], "a/b": jnp.argsort(x, axis=0)}


def drawn(key):
    return olympus.random.normal(olympus.random.wrap_key_data(key), (4,))


def chosen(flag, x):
    return lax.cond(flag, jnp.sin, jnp.cos, x)


# the function, its inputs by name
FUNCTIONS = {
    "matrix product": (lambda x: x @ PARAMS["w"], {"x": X}),
    "gradient": (olympus.grad(loss), {"w": PARAMS["w"], "x": X}),
    "batches": (olympus.vmap(lambda x: jnp.outer(x, x)), {"x": X}),
    "fixed loop": (iterated, {"x": X}),
    "loop of unknown length": (until, {"x": np.float32(3)}),
    "scan": (lambda x: lax.scan(lambda c, row: (c + row, c * row), x[0], x), {"x": X}),
    "branches": (chosen, {"flag": np.bool_(True), "x": X}),
    "several results": (several, {"x": X}),
    "convolution": (lambda x: lax.conv(x, KERNEL, (1, 1), "SAME"), {"x": IMAGE}),
    "random numbers": (drawn, {"key": np.array([1, 2], np.uint32)}),
    "integers": (lambda n: n * n // 3 - (n << 1), {"n": np.arange(-4, 4, dtype=np.int8)}),
    "complex numbers": (lambda z: jnp.exp(1j * z), {"z": np.complex64([1, 2j])}),
    "half precision": (lambda h: h * 3 + 1, {"h": X.astype(np.float16)}),
    "unused input": (lambda x, unused: x + 1, {"x": X, "unused": X}),
    "no input": (lambda: jnp.arange(6.0).reshape(2, 3), {}),
}


def assert_same(found, expected):
    expected = {name.replace("/", "_"): np.asarray(value) for name, value in expected.items()}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape)
        if value.dtype.kind in "fc":
            rtol = {np.float16: 2e-3}.get(value.dtype.type, 2e-5)
            np.testing.assert_allclose(found[name], value, rtol=rtol, atol=1e-6)
        else:
            np.testing.assert_array_equal(found[name], value)


def results_by_name(frozen, inputs):
    values = frozen.call_flat(*(inputs[port.name] for port in frozen.inputs))
    return {port.name: value for port, value in zip(frozen.outputs, values, strict=True)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_runner_computes_the_results_of_functions(runner, plugin, tmp_path, name):
    function, inputs = FUNCTIONS[name]
    frozen = olympus.freeze(function, *inputs.values(), platforms=(PLATFORM,))
    frozen.save(tmp_path / "f.frozen")
    named = {port.name: value for port, value in zip(frozen.inputs, inputs.values(), strict=True)}
    found, done = run(runner, plugin, tmp_path, named)
    assert done.returncode == 0, done.stderr
    here = olympus.freeze(function, *inputs.values())
    assert_same(found, results_by_name(here, named))


def predict(params, x):
    return {"p": olympus.nn.softmax(jnp.tanh(x @ params["w"]) + params["b"])}


@pytest.mark.parametrize("where", ["inside", "beside"])
@pytest.mark.parametrize("platforms", [(PLATFORM,), ("tpu", PLATFORM)])
def test_runner_reads_weights_inside_and_beside_file(runner, plugin, tmp_path, where, platforms):
    frozen = olympus.freeze(predict, PARAMS, X, weights=0, platforms=platforms)
    frozen.save(tmp_path / "f.frozen", weights=where)
    found, done = run(runner, plugin, tmp_path, {"x": X})
    assert done.returncode == 0, done.stderr
    logits = np.tanh(X @ PARAMS["w"]) + PARAMS["b"]
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found["p"], expected, rtol=2e-5)
    assert "p: float32(5, 3)" in done.stdout


def test_runner_reads_and_writes_bfloat16(runner, plugin, tmp_path):
    half = jnp.asarray(X, jnp.bfloat16)
    olympus.freeze(lambda x: x * 2, half, platforms=(PLATFORM,)).save(tmp_path / "f.frozen")
    found, done = run(runner, plugin, tmp_path, {"x": np.asarray(half)})
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(found["result"].view(jnp.bfloat16), np.asarray(half) * 2)


def test_runner_computes_in_double_precision(runner, plugin, tmp_path):
    x = X.astype(np.float64)
    with olympus.enable_x64():
        olympus.freeze(jnp.sin, x, platforms=(PLATFORM,)).save(tmp_path / "f.frozen")
    found, done = run(runner, plugin, tmp_path, {"x": x})
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(found["result"], np.sin(x), rtol=1e-13)


def test_runner_passes_options_to_xla(runner, plugin, tmp_path):
    olympus.freeze(jnp.sin, X, platforms=(PLATFORM,)).save(tmp_path / "f.frozen")
    option = ("--xla", "xla_backend_optimization_level=0")
    found, done = run(runner, plugin, tmp_path, {"x": X}, *option)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(found["result"], np.sin(X), rtol=2e-5)
    _, done = run(runner, plugin, tmp_path, {"x": X}, "--xla", "xla_no_such_option=0")
    assert done.returncode == 1
    assert "xla_no_such_option" in done.stderr


def test_invalid_inputs_are_reported(runner, plugin, tmp_path):
    olympus.freeze(jnp.sin, X, platforms=(PLATFORM,)).save(tmp_path / "f.frozen")
    for inputs, message in (
        ({}, "the input x is missing: give --input x=FILE"),
        ({"x": X[:2]}, "its shape is (2, 4), and the program takes (5, 4)"),
        ({"x": X.astype(np.int32)}, "its elements are <i4, and the program takes float32"),
        ({"x": np.asfortranarray(X)}, "Fortran's order"),
        ({"x": X, "y": X}, "there is no input for y="),
    ):
        _, done = run(runner, plugin, tmp_path, inputs)
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_invalid_files_are_reported(runner, plugin, tmp_path):
    symbolic = olympus.ShapeDtypeStruct(export.symbolic_shape("n, 4"), np.float32)
    olympus.freeze(jnp.sin, symbolic, platforms=(PLATFORM,)).save(tmp_path / "symbolic")
    other = "tpu" if PLATFORM != "tpu" else "cpu"
    olympus.freeze(jnp.sin, X, platforms=(other,)).save(tmp_path / "other")
    contents = (tmp_path / "other").read_bytes()
    (tmp_path / "cut").write_bytes(contents[:-100])
    (tmp_path / "short").write_bytes(contents[:40])
    for file, message in (
        ("symbolic", "has the symbolic size n"),
        ("other", f"is frozen for {other}, and the plugin is for"),
        ("cut", "is damaged"),
        ("short", "is no safetensors file"),
        ("none", "cannot read"),
    ):
        _, done = run(runner, plugin, tmp_path, {"x": X}, file=file)
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_invalid_plugins_are_reported(runner, tmp_path):
    olympus.freeze(jnp.sin, X).save(tmp_path / "f.frozen")
    _, done = run(runner, str(tmp_path / "none.so"), tmp_path, {"x": X})
    assert done.returncode == 1
    assert "none.so" in done.stderr
    source, library = tmp_path / "empty.cc", tmp_path / "empty.so"
    source.write_text("int nothing;\n")
    subprocess.run([COMPILER, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    _, done = run(runner, str(library), tmp_path, {"x": X})
    assert done.returncode == 1
    assert "is no PJRT plugin" in done.stderr


def test_incompatible_plugin_version_is_reported(runner, tmp_path):
    olympus.freeze(jnp.sin, X).save(tmp_path / "f.frozen")
    source, library = tmp_path / "later.cc", tmp_path / "later.so"
    source.write_text(
        f'#include "{SOURCE.parent / "pjrt_api.h"}"\n'
        "static PJRT_Api api{sizeof(PJRT_Api), 0, {sizeof(PJRT_Api_Version), 0, 1, 0}};\n"
        'extern "C" const PJRT_Api* GetPjrtApi() { return &api; }\n'
    )
    words = [COMPILER, "-std=c++17", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(words, check=True)
    _, done = run(runner, str(library), tmp_path, {"x": X})
    assert done.returncode == 1
    assert "has version 1.0 of PJRT's interface; this program knows 0.33" in done.stderr
