# SPDX-License-Identifier: Apache-2.0
"""The reports of olympus-insight under the names of `olympus`."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp


def step(params, x):
    def loss(params):
        hidden = x
        for layer in params["layers"]:
            hidden = jnp.tanh(hidden @ layer["up"]) @ layer["down"]
        return jnp.mean((hidden - x) ** 2)

    value, slopes = olympus.value_and_grad(loss)(params)
    return olympus.tree.map(lambda p, slope: p - 0.1 * slope, params, slopes), value


W = np.full((16, 32), 0.1, np.float32)
ARGS = {"layers": [{"up": W, "down": W.T}] * 2}, np.ones((8, 16), np.float32)


def test_nothing_is_imported_before_it_is_used():
    program = """if True:
        import sys, olympus, olympus.numpy as jnp
        @olympus.jit
        def f(x): return jnp.sin(x)
        f(1.0), f(2)
        f.lower(1.0).compile()
        assert not [name for name in sys.modules if name.startswith("olympus_insight.")]
        assert len(olympus.explain(f)) == 2
        others = ("memory_reports", "profiles", "program_pictures")
        assert not [name for name in others if f"olympus_insight.{name}" in sys.modules]
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_reports_of_a_training_step():
    compiled = olympus.jit(step)
    compiled(*ARGS)
    compiled(ARGS[0], ARGS[1][:4])
    (cause,) = olympus.explain(compiled).causes
    assert (cause.kind, cause.path) == ("shape", "x")
    report = olympus.memory(compiled, *ARGS)
    assert report.peak > sum(leaf.nbytes for leaf in olympus.tree.leaves(ARGS))
    assert all("test_reports.py" in each.line for each in report.top)
    measured = olympus.profile(compiled, *ARGS)
    assert measured.flops > 2 * 3 * (2 * 8 * 16 * 32) and measured.seconds > 0
    assert "tanh" in olympus.show(compiled, *ARGS).svg()


def test_memory_is_report_and_namespace_of_spaces():
    assert olympus.memory.Space.Host.name == "Host"
    assert olympus.memory(jnp.sin, np.ones(256, np.float32)).peak == 2048


def test_jit_takes_max_traces():
    limited = olympus.jit(step, max_traces=1)
    limited(*ARGS)
    with pytest.raises(RuntimeError, match=r"params\['layers'\]\[1\]\['up'\]: dtype"):
        changed = {"up": W.astype(jnp.bfloat16), "down": W.T}
        limited({"layers": [ARGS[0]["layers"][0], changed]}, ARGS[1])
