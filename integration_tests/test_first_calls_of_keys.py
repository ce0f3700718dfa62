# SPDX-License-Identifier: Apache-2.0
"""First calls of functions of random keys: evaluated by NumPy, with the bits of compiled code."""

import subprocess
import sys

PROGRAM = """
import numpy as np, olympus
from olympus import monitoring, random
compiled = []
def note(event, seconds, **details):
    if event == "/jax/core/compile/backend_compile_duration":
        compiled.append(event)
monitoring.register_event_duration_secs_listener(note)
key = random.key(7)
cases = {
    "split": lambda: random.key_data(random.split(key, 5)),
    "a row of keys": lambda: random.key_data(random.split(key, (2, 3))),
    "fold_in": lambda: random.key_data(random.fold_in(key, 12)),
    "bits": lambda: random.bits(key, (33,)),
    "bits of 8": lambda: random.bits(key, (9,), "uint8"),
    "split of old keys": lambda: random.split(random.PRNGKey(3), 4),
    "a large array": lambda: random.bits(key, (1 << 13,)),
}
for name, evaluate in cases.items():
    olympus.clear_caches()
    compiled.clear()
    olympus.config.update("olympus_cold_evaluation", "exact")
    first = np.asarray(evaluate())
    assert not compiled, (name, compiled)
    olympus.clear_caches()
    olympus.config.update("olympus_cold_evaluation", "off")
    second = np.asarray(evaluate())
    assert compiled, name
    assert first.dtype == second.dtype
    assert np.array_equal(first, second), name
"""


def test_bits_of_first_calls():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_first_calls_load_no_rare_modules():
    program = """
import sys, olympus
from olympus import numpy as jnp, random
jnp.pad(jnp.ones(3), 1), jnp.bincount(jnp.arange(3), length=5), random.split(random.key(0))
rare = ("numpy.ordering.quantiles", "numpy.numerics.index_tricks", "ir.lax.random_bits")
print([name for name in rare if f"olympus_{name}" in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "[]\n", done.stderr
