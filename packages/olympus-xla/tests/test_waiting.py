# SPDX-License-Identifier: Apache-2.0
"""Programs that run in the thread of a caller that waits, compiled and loaded from disk."""

import threading

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config_cache_flags
from olympus_xla import clear_caches, device_put
from olympus_xla.compiling import cache_usage, compilation_cache

# A product so large that XLA hands it to another thread.
X = np.full((200, 200), 1e-3, np.float32)


def product(x):
    return lax.dot(lax.dot(x, x), x)


def test_results_are_ready_when_the_call_returns(devices):
    x = device_put(X, devices[0]).block_until_ready()
    run = jit(product, caller_waits=True)
    assert all(run(x).is_ready() for _ in range(20))
    np.testing.assert_allclose(run(X), X @ X @ X, rtol=1e-5)


@pytest.fixture(params=["user's", "named"])
def folder(request, tmp_path):
    """A folder for compiled programs."""
    name = "cache_dir" if request.param == "user's" else "compilation_cache_dir"
    flags = [getattr(config_cache_flags, name)]
    flags.append(config_cache_flags.persistent_cache_min_compile_time_secs)
    before = [flag.value for flag in flags]
    for flag, value in zip(flags, (str(tmp_path), 0.0), strict=True):
        flag.update(value)
    compilation_cache.reset_cache()
    clear_caches()
    yield
    for flag, value in zip(flags, before, strict=True):
        flag.update(value)
    compilation_cache.reset_cache()
    clear_caches()


def test_thread_of_programs_from_disk(devices, folder):
    x = device_put(X, devices[0]).block_until_ready()
    first = jit(product, caller_waits=True)
    assert all(first(x).is_ready() for _ in range(20))
    hits = cache_usage.hits
    clear_caches()
    second = jit(product, caller_waits=True)
    assert all(second(x).is_ready() for _ in range(20))
    assert cache_usage.hits > hits


def test_other_threads_run_meanwhile(devices):
    def loop(x):
        return lax.fori_loop(0, 200, lambda i, c: lax.tanh(lax.dot(c, c)), x)

    run = jit(loop, caller_waits=True)
    x = device_put(X, devices[0]).block_until_ready()
    run(x)
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.wait(1e-4):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    run(x)
    meanwhile = counted - before
    done.set()
    thread.join()
    assert meanwhile > 2
