# SPDX-License-Identifier: Apache-2.0
"""Stores and keys of compiled programs under the names of JAX's private modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_compat(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "olympus.compat", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "OLYMPUS_CACHE_DIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


STORE = """
import warnings
from collections import Counter
from pathlib import Path
from unittest import mock

import jax
from jax._src import compilation_cache as cc
from jax._src import config, distributed, monitoring
from jax._src import test_util as jtu
from jax._src.compilation_cache_interface import CacheInterface


class InMemory(CacheInterface):
    _path = Path()

    def __init__(self):
        self.entries = {}

    def get(self, key):
        return self.entries.get(key)

    def put(self, key, value):
        self.entries[key] = value


counts = Counter()
monitoring.register_event_listener(lambda event, **_: counts.update([event.rpartition("/")[2]]))


def stored():
    return len(cc._cache.entries)


settings = jtu.global_config_context(
    jax_persistent_cache_min_compile_time_secs=0, jax_persistent_cache_min_entry_size_bytes=0
)
with settings:
    cc.reset_cache()
    assert cc._cache is None
    cc._cache = InMemory()
    jax.jit(lambda x: x + 1)(1)
    jax.jit(lambda x: x + 1)(1)
    jax.jit(lambda x: x + 2)(1)
    assert stored() == 2 and all(key.startswith("jit__lambda-") for key in cc._cache.entries)
    assert counts == {
        "tasks_using_cache": 1, "compile_requests_use_cache": 3, "cache_misses": 2, "cache_hits": 1
    }, counts
    entry, = {cc.decompress_executable(v)[:4] for v in cc._cache.entries.values()}
    assert entry == bytes(4), entry  # whole seconds

    with config.persistent_cache_min_entry_size_bytes(1 << 30):
        jax.jit(lambda x: x + 3)(1)
    with mock.patch.object(distributed.global_state, "process_id", 1):
        jax.jit(lambda x: x + 4)(1)
    assert stored() == 2 and distributed.global_state.process_id == 0
    for method, kind in (("put", "writing"), ("get", "reading")):
        patched = mock.patch.object(InMemory, method)
        with patched as broken, warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            broken.side_effect = RuntimeError("broken")
            jax.jit(lambda x: x * 7)(1)
        entry = "persistent compilation cache entry for 'jit__lambda'"
        said = f"Error {kind} {entry}: RuntimeError: broken"
        assert [str(each.message) for each in w] == [said]
    cc.reset_cache()
    assert cc._cache is None
print("fine")
"""


def test_user_store_replaces_directory(tmp_path: Path) -> None:
    assert run_compat(STORE, tmp_path) == "fine"


KEYS = """
import hashlib, os, sys
import jax
import numpy as np
from jax._src import cache_key, compiler, xla_bridge
from jax._src.config import compilation_cache_include_metadata_in_key


def computation(f):
    return jax.jit(f).lower(1, 1).compiler_ir()


devices = np.array([[jax.local_devices()[0]]])
options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
others = compiler.get_compile_options(num_replicas=1, num_partitions=2)
backend = xla_bridge.get_backend()


def key(module, options=options):
    return cache_key.get(module, devices, options, backend)


added = computation(lambda x, y: x + y)
same = computation(lambda x, y: x + y)
assert key(added) == key(same) and key(added).startswith("jit__lambda-")
assert key(added) != key(computation(lambda x, y: x * y))
assert key(added) != key(added, others)
with compilation_cache_include_metadata_in_key(True):
    assert key(added) != key(same) and key(added) == key(added)
os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"
changed = key(added)
os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0 --xla_force_host_platform_device_count=8"
assert key(added) == changed
del os.environ["XLA_FLAGS"]
assert key(added) != changed
sys.argv.append("--xla_gpu_autotune_level=0")
assert key(added) == changed
sys.argv.pop()

shape = jax.ShapeDtypeStruct((), "int32")
calls = [
    jax.jit(lambda x, n=n: jax.pure_callback(lambda x: x + n, shape, x)).lower(1).compiler_ir()
    for n in range(2)
]
texts = [
    {cache_key._canonicalize_ir(each, ignored) for each in calls}
    for ignored in (cache_key.IgnoreCallbacks.NO, cache_key.IgnoreCallbacks.ALL)
]
assert len(texts[1]) == 1, texts
print("fine")
"""


def test_keys_tell_programs_apart(tmp_path: Path) -> None:
    assert run_compat(KEYS, tmp_path) == "fine"


DIRECTORY = """
import sys, time
from pathlib import Path
from jax._src.lru_cache import LRUCache

folder = Path(sys.argv[1])
cache = LRUCache(str(folder), max_size=-1)
assert cache.get("a") is None
cache.put("a", b"one")
cache.put("a", b"two")
assert cache.get("a") == b"one" and [each.name for each in folder.iterdir()] == ["a-cache"]
for use in (cache.get, lambda key: cache.put(key, b"")):
    try:
        use("")
    except ValueError as error:
        assert str(error) == "key cannot be empty"
    else:
        raise AssertionError
print("fine")
"""


def test_directory_keeps_first_value(tmp_path: Path) -> None:
    code = DIRECTORY.replace("sys.argv[1]", repr(str(tmp_path / "store")))
    assert run_compat(code, tmp_path) == "fine"


LOWERINGS = """
import jax
from jax._src import test_util as jtu


@jax.jit
def inner(x):
    return x * 2


def outer(x):
    return inner(x) + inner(x + 1)


with jtu.collect_lowered_jaxprs() as lowered:
    jax.jit(outer)(1)
(closed, module), = lowered
assert closed.debug_info.func_name == "outer" and "stablehlo.add" in str(module)
with jtu.count_subjaxpr_to_hlo_conversion("inner") as count:
    jax.jit(outer)(2.0)
assert count() == 1
print("fine")
"""


def test_lowerings_are_collected(tmp_path: Path) -> None:
    assert run_compat(LOWERINGS, tmp_path) == "fine"


EQUATIONS = """
import jax
from jax._src import jaxpr_util, lazy_loader
from jax._src.util import OrderedSet, StrictABC, use_cpp_class, use_cpp_method

closed = jax.make_jaxpr(lambda x: jax.lax.cond(x > 0, lambda x: x * x * x, lambda x: x, x))(1.0)
program = closed.jaxpr
assert jaxpr_util.primitives(program)["mul"] == 2
assert sum(jaxpr_util.primitives_by_shape(program).values()) == jaxpr_util.count_eqns(program)
assert all(" @ " in key for key in jaxpr_util.primitives_by_source(program))
used = [eqn.primitive.name for eqn in jaxpr_util.eqns_using_var(program, program.invars[0])]
assert used == ["gt", "mul", "mul"], used
order = OrderedSet()
order.update([3, 1, 3])
assert list(order) == [3, 1] and 1 in order
try:
    StrictABC.register(int)
except NotImplementedError:
    pass
else:
    raise AssertionError


class Fast:
    def one(self):
        return "fast"


@use_cpp_class(Fast)
class Slow:
    @use_cpp_method()
    def one(self):
        return "slow"

    def two(self):
        return "slow"


assert Slow is Fast and (Fast().one(), Fast().two()) == ("fast", "slow")
print("fine")
"""


def test_equations_are_counted(tmp_path: Path) -> None:
    assert run_compat(EQUATIONS, tmp_path) == "fine"
