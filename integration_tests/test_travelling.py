# SPDX-License-Identifier: Apache-2.0
"""Functions that travel: pickled, to worker processes of every kind, and to other Pythons."""

import concurrent.futures
import multiprocessing
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp

FOLDER = pathlib.Path(__file__).parent / "travelling"
sys.path.insert(0, str(FOLDER))
import functions_that_travel as travelling  # noqa: E402

NAMES = list(travelling.functions())


@pytest.fixture(scope="module")
def functions():
    return travelling.functions()


def with_values(cases):
    """Returns the cases with the value of each function in this process."""
    return {
        name: (function, arguments, travelling.call(function, arguments))
        for name, (function, arguments, _) in cases.items()
    }


def check(found, expected):
    olympus.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), found, expected
    )


def run(code_or_script, *arguments, python=sys.executable, path=None):
    process = subprocess.run(
        [python, *code_or_script, *map(str, arguments)],
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith(("OLYMPUS_", "PYTHON"))},
            "PYTHONPATH": os.pathsep.join([str(FOLDER), *(sys.path if path is None else path)]),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


@pytest.mark.parametrize("name", NAMES)
def test_pickled_functions_have_the_same_values(functions, name):
    function, arguments, expected = functions[name]
    value = travelling.call(function, arguments)
    if expected is not None:
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-6)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(function, protocol))
        check(travelling.call(copy, arguments), value)


def test_functions_of_module_are_pickled_by_their_names():
    for function in (travelling.decorated, travelling.with_jvp, travelling.with_rule, jnp.sin):
        assert pickle.loads(pickle.dumps(function)) is function


def test_compiled_functions_and_stages():
    for function, arguments, expected in travelling.compiled().values():
        copy = pickle.loads(pickle.dumps((function, arguments)))
        np.testing.assert_allclose(travelling.call(*copy), expected, rtol=1e-4)
    lowered = travelling.decorated.lower(travelling.X)
    for stage in (lowered, travelling.decorated.trace(travelling.X)):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(stage)


def test_transformed_functions_behave_as_functions():
    class Holder:
        gradient = olympus.grad(lambda self, x: x**2, argnums=1)

    assert float(Holder().gradient(3.0)) == 6.0
    gradient = olympus.grad(travelling.plain)
    assert gradient.__name__ == "plain"
    assert repr(gradient) == "<grad of plain>"
    with pytest.raises((AttributeError, pickle.PicklingError), match="local object|lookup"):
        pickle.dumps(olympus.grad(lambda x: x))


READER = """
import pickle, sys
import olympus
olympus.config.update("olympus_num_cpu_devices", int(sys.argv[2]))
try:
    function, x = pickle.load(open(sys.argv[1], "rb"))
    print(function(x).tolist())
except RuntimeError as error:
    print(error)
"""
WRITER = """
import pickle, sys
import cloudpickle, numpy as np, olympus
olympus.config.update("olympus_num_cpu_devices", 4)
types = (olympus.sharding.AxisType.Auto,) * 2
mesh = olympus.make_mesh((2, 2), ("a", "b"), axis_types=types)
assert pickle.loads(pickle.dumps(mesh)) is mesh
assert pickle.loads(pickle.dumps(olympus.devices()[3])) is olympus.devices()[3]
P = olympus.P
sums = lambda x: olympus.lax.psum(x.sum(axis=1), "b")
function = olympus.jit(olympus.shard_map(sums, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a")))
cloudpickle.dump((function, np.arange(8.0).reshape(2, 4)), open(sys.argv[1], "wb"))
"""


def test_pickled_meshes_resolve_in_other_processes(tmp_path):
    pytest.importorskip("cloudpickle")
    path = tmp_path / "function"
    run(["-c", WRITER], path)
    assert run(["-c", READER], path, 4) == run(["-c", READER], path, 8) == "[6.0, 22.0]"
    assert run(["-c", READER], path, 2) == (
        "the pickle refers to the device cpu:2, and this process has the devices cpu:0, cpu:1. "
        "Start it with the setting olympus_num_cpu_devices=3 or more"
    )


def test_missing_devices_raise_on_unpickling():
    from olympus_xla.platforms.travelling_devices import device_of_this_process

    assert device_of_this_process("cpu", 0) is olympus.devices("cpu")[0]
    with pytest.raises(RuntimeError, match="refers to the device tpu:1, and this process has no"):
        device_of_this_process("tpu", 1)


# ---- worker processes ----

# Workers start from a process that has not used a device yet: a copy by fork of one that has would
# lack its threads.
START = """
import concurrent.futures, multiprocessing, pickle, sys
import functions_that_travel as travelling

if __name__ == "__main__":
    cases = pickle.load(open(sys.argv[2], "rb"))
    context = multiprocessing.get_context(sys.argv[1])
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        futures = {
            name: pool.submit(travelling.call_pickled, contents)
            for name, contents in cases.items()
        }
        values = {name: future.result() for name, future in futures.items()}
    pickle.dump(values, open(sys.argv[3], "wb"))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_with_each_start_method(functions, tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    cases = with_values(functions)
    # Reading an array puts it on a device, which is left to the workers: a process that has used
    # its devices must not be forked.
    pickled = {name: pickle.dumps(case[:2]) for name, case in cases.items()}
    (tmp_path / "cases").write_bytes(pickle.dumps(pickled))
    (tmp_path / "start.py").write_text(START)
    run([str(tmp_path / "start.py")], method, tmp_path / "cases", tmp_path / "values")
    values = pickle.loads((tmp_path / "values").read_bytes())
    assert values.keys() == cases.keys()
    for name, (_, _, expected) in cases.items():
        check(values[name], expected)


def test_multiprocessing_pool_from_this_process(functions):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        for name in ("grad", "custom_rule", "partial over an array"):
            function, arguments, expected = functions[name]
            value = pool.submit(travelling.call, function, arguments).result()
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-6)


def test_joblib_sends_closures(functions):
    joblib = pytest.importorskip("joblib")
    weights = jnp.arange(3.0)
    scaled = olympus.jit(lambda x: x * weights)  # no module has it
    rows = np.eye(3, dtype=np.float32)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(scaled)(row) for row in rows)
        slopes = joblib.Parallel()(
            joblib.delayed(olympus.grad(lambda x: (x * weights).sum()))(row) for row in rows
        )
    np.testing.assert_allclose(np.stack(found), np.diag([0, 1, 2]))
    np.testing.assert_allclose(np.stack(slopes), [[0, 1, 2]] * 3)


MAIN = """
import functools, pickle, subprocess, sys
import cloudpickle
import numpy as np
import olympus
import olympus.numpy as jnp

weights = jnp.arange(3.0)

@olympus.jit
def jitted(x):
    return x * weights

@olympus.custom_vjp
def ruled(x):
    return x
def forward(x):
    return ruled(x), None
ruled.defvjp(forward, lambda _, cotangent: (5 * cotangent,))

@olympus.grad
def slope(x):
    return (x**3 * weights).sum()

class Model:
    @functools.partial(olympus.jit, static_argnums=0)
    def call(self, x):
        return jitted(x) + 1

x = np.ones(3, np.float32)
cases = [(jitted, x), (olympus.vmap(olympus.grad(ruled)), x), (slope, x), (Model().call, x)]
reader = "import pickle, sys; print([f(x).tolist() for f, x in pickle.load(sys.stdin.buffer)])"
written = cloudpickle.dumps(cases)
print(subprocess.run([sys.executable, "-c", reader], input=written, stdout=-1).stdout.decode())
"""


def test_cloudpickle_of_functions_in_main(tmp_path):
    pytest.importorskip("cloudpickle")
    (tmp_path / "program.py").write_text(MAIN)
    printed = run([str(tmp_path / "program.py")])
    assert printed == "[[0.0, 1.0, 2.0], [5.0, 5.0, 5.0], [0.0, 3.0, 6.0], [1.0, 2.0, 3.0]]"


# ---- another Python ----


def other_pythons():
    """Yields interpreters of other versions of Python, which need not have any library."""
    for minor in (11, 12, 13, 14):
        if minor == sys.version_info[1]:
            continue
        found = shutil.which(f"python3.{minor}")
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            yield found


@pytest.fixture(scope="module")
def other_python(tmp_path_factory):
    """An interpreter of another version, in an environment with OLYMPUS."""
    requirements = "jaxlib==0.10.2", "numpy>=2.0", "ml_dtypes>=0.5", "opt_einsum", "scipy"
    for python in other_pythons():
        folder = tmp_path_factory.mktemp("other") / "venv"
        subprocess.run([python, "-m", "venv", str(folder)], check=True, capture_output=True)
        made = str(folder / "bin" / "python")
        installed = subprocess.run(
            [made, "-m", "pip", "install", "-q", *requirements], capture_output=True
        )
        if installed.returncode == 0:
            return made
    return pytest.skip("no other version of Python, or no package index to install jaxlib from")


def test_unpickling_under_another_python_version(functions, tmp_path, other_python):
    (tmp_path / "cases").write_bytes(pickle.dumps(with_values(functions)))
    sources = sorted(map(str, FOLDER.parent.parent.glob("packages/*/src")))
    printed = run(
        [str(FOLDER / "run_all.py")], tmp_path / "cases", python=other_python, path=sources
    )
    count, version = printed.split()
    assert int(count) == len(NAMES)
    assert version != f"{sys.version_info[0]}.{sys.version_info[1]}"
