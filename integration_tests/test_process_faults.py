# SPDX-License-Identifier: Apache-2.0
"""Faults that must raise a Python error or exit normally. Each runs in its own process."""

import os
import signal
import subprocess
import sys
import time

import pytest

SETUP = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
import sys, threading, time
import numpy as np
import olympus
import olympus.numpy as jnp
from olympus import lax
"""

# Lowers a program whose compilation takes seconds, and says so.
LOWERED = """
def many(x):
    for i in range(150):
        x = jnp.sin(x) @ x + i * jnp.cumsum(x, 0)
    return x
lowered = olympus.jit(many).lower(np.ones((8, 8), np.float32))
print("lowered", flush=True)
"""


def start(code):
    return subprocess.Popen(
        [sys.executable, "-c", SETUP + code],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "OLYMPUS_ENABLE_COMPILATION_CACHE": "0",  # another test compiles the same program
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code):
    process = start(code)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


def test_sizes_above_63_bits_raise():
    output = run("""
struct = olympus.ShapeDtypeStruct((2**62,), np.float32)
for attempt in (
    lambda: jnp.zeros(2**62),
    lambda: jnp.ones((2**31, 2**31)),
    lambda: jnp.arange(2**62),
    lambda: jnp.zeros(2**63),
    lambda: jnp.zeros(2**63 - 1, jnp.int4),
    lambda: jnp.broadcast_to(1.0, (2**31, 2**32)),
    lambda: olympus.jit(lambda x: x.reshape(2**62, 0))(jnp.zeros(0)),
    lambda: jnp.eye(2**32),
    lambda: olympus.random.normal(olympus.random.key(0), (2**62,)),
    lambda: olympus.jit(lambda: jnp.zeros(2**62).sum())(),
    lambda: olympus.jit(lambda x: x + 1).lower(struct),
    lambda: olympus.vmap(lambda x: x, axis_size=2**62, in_axes=None)(1.0),
):
    try:
        attempt()
        print("no error")
    except OverflowError as error:
        print("bytes" in str(error))
print(jnp.zeros((0, 2**62)).shape, olympus.eval_shape(lambda: jnp.zeros(2**62)).shape)
""")
    *attempts, shapes = output.splitlines()
    assert attempts == ["True"] * 12
    assert shapes == f"(0, {2**62}) ({2**62},)"


@pytest.mark.parametrize(
    "step",
    [
        "x = olympus.jit(lambda x: x @ x / 300)(x)",
        "np.asarray(jnp.sin(x) + olympus.device_put(np.ones(300)))",
        "olympus.jit(lambda y: y @ x)(x)",  # compiles anew each time
    ],
)
def test_exit_while_daemon_threads_compute(step):
    output = run(f"""
started = threading.Barrier(4)
def work():
    x = jnp.ones((300, 300))
    (x @ x).block_until_ready()
    started.wait()
    while True:
        {step}
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep(0.3)
print("end", flush=True)
""")
    assert output == "end\n"


def test_interrupt_during_a_compilation():
    process = start(
        LOWERED
        + """
try:
    lowered.compile()
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(float(jnp.float32(3) * 2), flush=True)
"""
    )
    assert process.stdout.readline() == "lowered\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output == "interrupted\n6.0\n"


def test_exit_after_an_interrupted_compilation():
    process = start(
        LOWERED
        + """
lowered.compile()
"""
    )
    assert process.stdout.readline() == "lowered\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (1, -signal.SIGINT), errors
    assert "KeyboardInterrupt" in errors


def test_deeply_nested_pytrees_raise():
    output = run("""
tree = np.ones(2)
for _ in range(20_000):
    tree = [tree]
called = olympus.jit(lambda tree: 1.0)
called(1.0)  # later calls are flattened by another path
for function in (
    called,
    olympus.tree.leaves,
    olympus.tree.structure,
    olympus.tree.leaves_with_path,
    lambda tree: olympus.tree.map(lambda x: x, tree),
    lambda tree: olympus.tree.broadcast(1, tree),
    olympus.jit(lambda tree: tree),
    olympus.vmap(lambda tree: tree),
    olympus.grad(lambda tree: 1.0),
    olympus.device_put,
):
    try:
        function(tree)
    except RecursionError:
        print("RecursionError")
while tree.__class__ is list:  # spares the destructor the recursion
    tree = tree.pop()
""")
    assert output.split() == ["RecursionError"] * 10


def test_names_that_are_not_unicode():
    output = run(r"""
import tempfile
name = "f\udc80"
def f(x):
    return jnp.sin(x) * 2
f.__name__ = f.__qualname__ = name
x = np.ones(3, np.float32)
called = olympus.jit(f)
assert called(x).shape == (3,)
text = called.lower(x).as_text(debug_info=True)
print("@jit_f " in text)

def scoped(x, **options):
    with olympus.named_scope(name):
        return jnp.cos(x) + options[name]
print(r"f\\udc80" in olympus.jit(scoped).lower(x, **{name: x}).as_text(debug_info=True))

def fails(x):
    raise LookupError(name)
try:
    olympus.jit(lambda x: olympus.pure_callback(fails, x, x))(x).block_until_ready()
except RuntimeError as error:
    print(r"LookupError: f\udc80" in str(error), type(error.__cause__).__name__)
with olympus.profiler.trace(tempfile.mkdtemp()):
    with olympus.profiler.TraceAnnotation(name):
        called(x).block_until_ready()
print("end")
""")
    assert output.split() == ["True", "True", "True", "LookupError", "end"]


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux alone")
def test_source_files_whose_names_are_not_unicode():
    output = run(r"""
import importlib, os, tempfile, warnings
folder = tempfile.mkdtemp()
with open(os.path.join(os.fsencode(folder), b"m\xff.py"), "w") as file:
    file.write('''
import olympus, olympus.numpy as jnp
@olympus.jit
def compiled(x): return jnp.sin(x) + 1
def eager(x): return jnp.cos(x)
def mistaken(x): return x + jnp.ones(7)
''')
sys.path.insert(0, folder)
module = importlib.import_module(os.fsdecode(b"m\xff"))
x = np.ones(3, np.float32)
print(module.compiled(x).shape, module.eager(x).shape)
try:
    olympus.jit(module.mistaken)(x)
except (TypeError, ValueError) as error:
    print("(3,), (7,)" in str(error))
print(r"m\\udcff.py" in olympus.jit(module.eager).lower(x).as_text(debug_info=True))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with olympus.profiler.trace(tempfile.mkdtemp()):
        module.compiled(x).block_until_ready()
print([str(warning.message)[:29] for warning in caught])
""")
    assert output.splitlines() == [
        "(3,) (3,)",
        "True",
        "True",
        "['Python calls are not recorded']",
    ]


def test_interrupts_at_every_step_of_compilations():
    output = run("""
import random
from olympus_xla.compiling import interruption

class Interrupt(BaseException):
    pass

def interrupt(*_):
    global armed
    if armed:
        armed = False
        raise Interrupt

armed = False
signal.signal(signal.SIGALRM, interrupt)
draws = random.Random(0)
count = 0
for _ in range(2000):
    armed = True
    try:
        signal.setitimer(signal.ITIMER_REAL, draws.uniform(1e-6, 3e-4))
        for _ in range(20):
            interruption.interruptibly(lambda: sum(range(200)))
            interruption.await_abandoned()
    except Interrupt:
        count += 1
    armed = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    interruption.await_abandoned()
print(count > 100, interruption._abandoned)
""")
    assert output.split() == ["True", "[]"]
