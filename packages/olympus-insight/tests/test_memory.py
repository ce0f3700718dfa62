# SPDX-License-Identifier: Apache-2.0
"""`memory` agrees with XLA's figures, and names lines and reasons."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import olympus_insight
import olympus_numpy as jnp
from olympus_autodiff import checkpoint, grad, value_and_grad
from olympus_batching import vmap
from olympus_insight import memory, profile
from olympus_insight.memory_reports import MemoryReport
from olympus_ir import lax
from olympus_ir.types.placement import PartitionSpec
from olympus_ir.types.shape_struct import ShapeDtypeStruct
from olympus_sharding import AxisType, NamedSharding, make_mesh
from olympus_xla import jit
from olympus_xla.arrays.transfer import device_put
from olympus_xla.compiling.compiler import compiled_programs


def array(*shape, dtype=np.float32):
    return ShapeDtypeStruct(shape, dtype)


def layers(x, count=6):
    for _ in range(count):
        x = jnp.sin(x @ jnp.cos(x))
    return x


def network(params, x):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


def training(params, x):
    value, slopes = value_and_grad(network)(params, x)
    return [p - 0.1 * slope for p, slope in zip(params, slopes, strict=True)], value


def recurrent(w, xs):
    def body(carry, x):
        carry = jnp.tanh(carry @ w + x)
        return carry, carry

    return jnp.sum(lax.scan(body, jnp.zeros(xs.shape[1:], xs.dtype), xs)[1] ** 2)


def attention(q, k, v):
    scores = q @ k.T
    weights = jnp.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v


def newton(a):
    def improved(state):
        x, count = state
        return 2 * x - x @ a @ x, count + 1

    return lax.while_loop(lambda state: state[1] < 5, improved, (a, 0))[0]


def branches(flag, x):
    return lax.cond(flag, lambda x: x @ x @ x, lambda x: jnp.sin(x) @ x, x)


W = [array(128, 128)] * 4
PROGRAMS = {
    "sum": (jnp.sum, array(512, 512)),
    "add": (lambda x: x + 1, array(512, 512)),
    "products": (layers, array(256, 256)),
    "doubles": (layers, array(128, 128, dtype=np.float16)),
    "integers": (lambda x: jnp.cumsum(x, 0) * x, array(300, 300, dtype=np.int32)),
    "sort": (lambda x: jnp.sort(x, 1), array(200, 300)),
    "several results": (lambda x: (x @ x, x.T, x.sum()), array(256, 256)),
    "network": (network, W, array(64, 128)),
    "gradient": (grad(network), W, array(512, 128)),
    "training": (training, W, array(512, 128)),
    "checkpointed": (grad(checkpoint(network)), W, array(512, 128)),
    "scan": (recurrent, array(64, 64), array(30, 16, 64)),
    "gradient of scan": (grad(recurrent), array(64, 64), array(30, 16, 64)),
    "while": (newton, array(128, 128)),
    "branches": (branches, array(dtype=np.bool_), array(200, 200)),
    "attention": (attention, *[array(300, 64)] * 3),
    "gradient of attention": (grad(lambda *x: attention(*x).sum()), *[array(300, 64)] * 3),
    "batch": (vmap(attention), *[array(4, 100, 32)] * 3),
    "gather": (lambda x, i: x[i] * 2, array(100, 64), array(500, dtype=np.int32)),
    "scatter": (lambda x, i: x.at[i].add(1.0), array(1000, 64), array(500, dtype=np.int32)),
    "convolution": (
        lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
        array(4, 8, 32, 32),
        array(16, 8, 3, 3),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_peak_is_close_to_estimate_of_xla(name):
    fun, *args = PROGRAMS[name]
    compiled = jit(fun).lower(*args).compile()
    found = compiled.memory_analysis()
    expected = (
        found.argument_size_in_bytes
        + found.output_size_in_bytes
        - found.alias_size_in_bytes
        + found.temp_size_in_bytes
    )
    report = memory(fun, *args)
    assert report.allocated == expected
    assert report.peak == pytest.approx(expected, rel=0.2)
    assert sum(each.bytes for each in report.at_peak) == pytest.approx(
        report.peak - report.gaps, rel=0.05
    )
    assert [each.bytes for each in report.top] == sorted(
        (each.bytes for each in report.at_peak), reverse=True
    )[:10]


def test_gaps_between_buffers_are_part_of_the_peak():
    timeline = [{"argument": 10**5, "temporary": 4 * 10**5}, {"argument": 10**5}]
    report = MemoryReport("step", (10**5, 0, 9 * 10**5), timeline, [], ())
    assert (report.peak, report.gaps) == (10**6, 5 * 10**5)
    assert "488.3 KiB  gaps between the buffers" in str(report)
    assert "gaps between" not in str(MemoryReport("step", (10**5, 0, 4 * 10**5), timeline, [], ()))


def test_residuals_show_line_and_checkpoint_savings():
    def model(w, x):
        hidden = jnp.sin(x @ w)  # kept for the backward pass: 4 MiB
        return jnp.sum(hidden**2)

    report = memory(grad(model), array(64, 1024), array(1024, 64))
    (residual, *_) = [each for each in report.top if each.kind == "residual"]
    assert residual.shape == (1024, 1024) and residual.dtype == "float32"
    assert residual.bytes == 4 * 2**20
    assert "jnp.sin(x @ w)" in residual.line.text
    assert residual.line == f"{__file__}:{residual.line.number}"
    assert "residual of the backward pass" in residual.why


def test_checkpoint_savings_match_the_report():
    def loss(wrapped, w, x):
        def block(x, _):
            return jnp.sin(jnp.sin(x @ w) @ w.T), None

        return jnp.sum(lax.scan(wrapped(block), x, None, length=16)[0])

    args = array(64, 512), array(256, 64)
    plain = memory(grad(functools.partial(loss, lambda block: block)), *args)
    promised = plain.top[0].saved
    assert plain.top[0].shape == (16, 256, 512) and promised > 0
    saved = memory(grad(functools.partial(loss, checkpoint)), *args)
    assert saved.peak <= plain.peak - 0.9 * promised


def test_arguments_show_donation():
    def update(params, x):
        return {"w": params["w"] + x}

    args = {"w": array(256, 256)}, array(256, 256)
    plain = memory(update, *args)
    assert any("argument params['w'], not donated" in each.why for each in plain.top)
    assert plain.peak == 3 * 2**18
    donated = memory(jit(update, donate_argnums=0), *args)
    assert any("params['w'], donated: a result takes" in each.why for each in donated.top)
    assert donated.peak == 2 * 2**18
    (result,) = [each for each in plain.top if each.kind == "result"]
    assert result.why == "result result['w']"


def test_sizes_are_those_on_one_device(devices):
    mesh = make_mesh((4,), ("i",), (AxisType.Auto,), devices=devices[:4])
    x = device_put(np.zeros((1024, 64), np.float32), NamedSharding(mesh, PartitionSpec("i")))
    assert memory(lambda x: x * 2, x).peak == 2 * x.nbytes // 4


def test_report_as_text_and_html(tmp_path):
    report = memory(training, W, array(512, 128))
    assert "at its peak" in str(report) and "test_memory.py" in str(report)
    page = report._repr_html_()
    assert page.count("<tr>") == 11 and '<polygon class="residual"' in page
    report.save(tmp_path / "memory.html")
    assert "http" not in (tmp_path / "memory.html").read_text().replace("http://www.w3.org", "")


def test_stages_are_accepted_and_other_values_raise():
    compiled = jit(lambda x: x + 1).lower(array(4)).compile()
    assert memory(compiled).peak == memory(lambda x: x + 1, array(4)).peak == 32
    with pytest.raises(TypeError, match="expected a function"):
        memory(3)


def test_names_are_loaded_lazily():
    assert {"memory", "explain"} <= set(dir(olympus_insight))


def test_out_of_memory_error_shows_the_report():
    @jit
    def outer(x):
        return jnp.sort(jnp.ones(2**22)[:, None] * jnp.ones(2**20) + x, 0)  # needs 16 TiB

    with pytest.raises(Exception, match="RESOURCE_EXHAUSTED") as caught:
        outer(1.0)
    (report,) = [note for note in caught.value.__notes__ if "at its peak" in note]
    assert "16.0 TiB  float32[4194304,1048576]" in report and "test_memory.py" in report


def test_compiled_once():
    @jit
    def step(x):
        return layers(x).sum()

    x = np.ones((64, 64), np.float32)
    fresh = memory(lambda x: step(x), x)
    step(x).block_until_ready()
    count = len(compiled_programs)
    report = memory(step, x)
    assert profile(step, x).seconds > 0
    assert not [each for each in list(compiled_programs)[count:] if "step" in each.source]
    assert report.peak == fresh.peak
    assert {each.line.number for each in report.top if each.line} >= {
        each.line.number for each in fresh.top if each.line and each.line.function == "layers"
    }
