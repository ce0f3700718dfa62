# SPDX-License-Identifier: Apache-2.0
"""Threads with different settings: each thread gets its own settings and programs."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: it sets the number of devices, and ends while caches are full.
PROGRAM = """
import random
import sys
import threading
import traceback

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.sharding import AxisType, PartitionSpec as P

THREADS, ROUNDS = 16, 200
olympus.config.update("olympus_num_cpu_devices", 4)
sys.setswitchinterval(1e-6)
devices = olympus.devices()
matrix = np.arange(16, dtype=np.float32).reshape(4, 4)

# All threads share these functions: the settings choose among their programs.
mixed = olympus.jit(lambda x: (x * 2.5).sum() + jnp.arange(3).sum())
square = olympus.jit(lambda x: x @ x)
logarithm = olympus.jit(jnp.log)
total = olympus.jit(lambda x, y: x + y)
over_mesh = olympus.jit(
    lambda x: olympus.shard_map(
        lambda part: lax.psum(part.sum(), "i"), in_specs=P("i"), out_specs=P()
    )(x)
)


def width(number):
    wide = bool(number % 2)
    with olympus.enable_x64(wide):
        dtype = "float64" if wide else "float32"
        found = mixed(np.array([0.1, 0.2]))
        np.testing.assert_allclose(found, 3.75, rtol=1e-15 if wide else 1e-6)
        assert found.dtype == jnp.ones(2, float).dtype == dtype
        assert jnp.arange(3).dtype == ("int64" if wide else "int32")
        assert olympus.grad(lambda x: x * x * number)(0.5).dtype == dtype


def device(number):
    chosen = devices[number % 4]
    with olympus.default_device(chosen):
        found = mixed(np.ones(2, "float32"))
        assert found.devices() == jnp.ones(3).devices() == {chosen}
        assert float(found) == 8.0


def precision(number):
    name = (None, "highest", "bfloat16")[number % 3]
    with olympus.default_matmul_precision(name):
        # A new function is traced, and the shared one has a program for each setting.
        traced = str(olympus.make_jaxpr(lambda x: x @ x)(matrix))
        text = square.lower(matrix).as_text()
        assert ("HIGHEST" in traced) == ("HIGHEST" in text) == (name == "highest")
        np.testing.assert_array_equal(square(matrix), matrix @ matrix)


def nans(number):
    checked = bool(number % 2)
    with olympus.debug_nans(checked):
        try:
            found = logarithm(-1.0)
        except FloatingPointError:
            assert checked
        else:
            assert not checked and np.isnan(found)


def infinities(number):
    checked = bool(number % 2)
    with olympus.debug_infs(checked):
        try:
            found = logarithm(0.0)
        except FloatingPointError:
            assert checked
        else:
            assert not checked and float(found) == -np.inf


def mesh(number):
    size = (1, 2, 4)[number % 3]
    over = olympus.make_mesh((size,), ("i",), devices=devices[:size], axis_types=(AxisType.Auto,))
    with olympus.set_mesh(over):
        assert dict(olympus.sharding.get_abstract_mesh().shape) == {"i": size}
        found = over_mesh(np.arange(4, dtype=np.float32))
        assert float(found) == 6.0 and len(found.devices()) == size


def promotion(number):
    mode = ("standard", "strict")[number % 2]
    with olympus.numpy_dtype_promotion(mode):
        try:
            found = total(np.ones(2, "float32"), np.ones(2, "int32"))
        except olympus.errors.TypePromotionError:
            assert mode == "strict"
        else:
            assert mode == "standard" and found.tolist() == [2.0, 2.0]


def without_compilation(number):
    with olympus.disable_jit(bool(number % 2)):
        traced = []
        olympus.jit(lambda x: traced.append(isinstance(x, olympus.core.Tracer)) or x)(1.0)
        assert traced == [number % 2 == 0]


def generator(number):
    name = ("threefry2x32", "rbg")[number % 2]
    with olympus.default_prng_impl(name):
        assert str(olympus.random.key_impl(olympus.random.key(number))) == name


def caches(number):
    if number == 0:
        olympus.clear_caches()


TASKS = [
    width, device, precision, nans, infinities, mesh, promotion, without_compilation, generator,
    caches,
]  # fmt: skip
before = repr(olympus.config)
failures = []
start = threading.Barrier(THREADS)


def work(seed):
    choose = random.Random(seed)
    start.wait()
    for _ in range(ROUNDS):
        task, number = choose.choice(TASKS), choose.randrange(12)
        try:
            task(number)
        except BaseException:
            failures.append(f"{task.__name__}({number}): {traceback.format_exc()[-1500:]}")
    if repr(olympus.config) != before:
        failures.append(f"settings stayed: {olympus.config!r}")


threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*failures[:3], sep="\\n")
print(len(failures), "failures")
"""

# Threads that still compute do not keep the process from ending, and do not end it with a fault.
EXIT = """
import threading

import olympus
import olympus.numpy as jnp

started = threading.Barrier(9)


def work(number):
    with olympus.enable_x64(bool(number % 2)):
        started.wait()
        count = 0
        while True:
            count += 1
            olympus.jit(lambda x: jnp.sin(x) * count)(jnp.ones(number + 1))


for number in range(8):
    threading.Thread(target=work, args=(number,), daemon=True).start()
started.wait()
jnp.sum(jnp.ones(3)).block_until_ready()
print("done")
"""


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_settings_of_many_threads():
    assert run(PROGRAM).strip() == "0 failures"


def test_exit_while_threads_compile():
    assert run(EXIT) == "done\n"
