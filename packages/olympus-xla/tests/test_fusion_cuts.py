# SPDX-License-Identifier: Apache-2.0
"""Cuts of chains that the compiler would fuse into ever larger functions."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.settings.config_flags import compiler_enable_remat_pass
from olympus_xla.calls.jit import jit
from olympus_xla.compiling.compile_options import compile_options


def mixing(x):
    """Steps in which every value is used at several positions."""
    for _ in range(14):
        first, rest = lax.slice(x, (0,), (4,)), lax.slice(x, (4,), (8,))
        x = lax.concatenate([lax.sub(rest, lax.mul(first, rest)), lax.add(first, rest)], 0)
        x = lax.mul(x, np.float32(0.5))
    return x


def mixing_numpy(x):
    for _ in range(14):
        first, rest = x[:4], x[4:]
        x = np.concatenate([rest - first * rest, first + rest]) * 0.5
    return x


CLOSE = {"rtol": 1e-4, "atol": 1e-7}
X = np.linspace(0.1, 0.8, 8, dtype=np.float32)


def test_growing_program_is_cut_and_right():
    compiled = jit(mixing).lower(X).compile()
    report = compiled.report()
    assert report.cuts
    assert report.operations < report.operations_before / 2
    np.testing.assert_allclose(
        compiled(X), mixing_numpy(X.astype(np.float64)), rtol=1e-4, atol=1e-7
    )


def test_report_names_the_lines_of_the_function():
    text = str(jit(mixing).lower(X).compile().report())
    assert re.search(r"\d+ values are kept in memory", text)
    assert f"{__file__}:" in text
    assert "(mixing)" in text


def test_barriers_reach_the_executable():
    cut = jit(mixing).lower(X)
    assert "optimization_barrier" in cut.as_text()
    assert "opt-barrier" in cut.compile().as_text()


def test_program_that_does_not_grow_is_unchanged():
    def layers(x):
        for _ in range(60):
            x = lax.tanh(lax.mul(x, np.float32(1.1)))
        return x

    lowered = jit(layers).lower(X)
    assert "optimization_barrier" not in lowered.as_text()
    report = lowered.compile().report()
    assert not report.cuts
    assert "compiled as it is" in str(report)


def test_budget_determines_the_cuts():
    free = jit(mixing, compile_budget=math.inf).lower(X).compile()
    tight = jit(mixing, compile_budget=0.05).lower(X).compile()
    assert not free.report().cuts
    assert tight.report().cuts
    wanted = mixing_numpy(X.astype(np.float64))
    np.testing.assert_allclose(free(X), wanted, **CLOSE)
    np.testing.assert_allclose(tight(X), wanted, **CLOSE)


def test_budgets_do_not_share_modules():
    texts = {jit(mixing, compile_budget=b).lower(X).as_text() for b in (0.05, math.inf)}
    assert len(texts) == 2


def test_body_of_a_loop_is_cut():
    def repeated(x):
        return lax.fori_loop(0, 3, lambda _, y: lax.mul(mixing(y), np.float32(0.1)), x)

    compiled = jit(repeated).lower(X).compile()
    wanted = X.astype(np.float64)
    for _ in range(3):
        wanted = mixing_numpy(wanted) * 0.1
    assert compiled.report().cuts
    np.testing.assert_allclose(compiled(X), wanted, **CLOSE)


def test_repeated_blocks_are_reported():
    def layer(x, w):
        y = lax.mul(lax.tanh(x), w)
        z = lax.select(lax.gt(y, lax.full_like(y, 0)), y, lax.mul(y, y))
        return lax.add(lax.sub(z, lax.exp(y)), lax.mul(x, w)), z

    def network(x, w):
        kept = []
        for _ in range(30):
            x, z = layer(x, w)
            kept.append(z)
        return x, kept

    report = jit(network).lower(X, X).compile().report()
    for line, size, times in report.blocks:
        assert "layer" in line or "network" in line
        assert size * times <= report.equations


@pytest.mark.parametrize("budget", ["fast", None, True, [1.0]])
def test_budget_must_be_a_number(budget):
    with pytest.raises(TypeError, match=r"compile_budget must be a number of seconds"):
        jit(mixing, compile_budget=budget)


@pytest.mark.parametrize("budget", [0, -1.0, math.nan])
def test_budget_must_be_positive(budget):
    with pytest.raises(ValueError, match=r"compile_budget must be a positive number"):
        jit(mixing, compile_budget=budget)


def test_disabled_passes_join_those_of_the_user():
    options = compile_options(
        [0], options={"xla_disable_hlo_passes": "fusion"}, disabled_passes=("barriers",)
    )
    assert dict(options.env_option_overrides)["xla_disable_hlo_passes"] == "fusion,barriers"


def test_disabled_passes_join_those_of_flags():
    compiler_enable_remat_pass.update(False)
    try:
        options = compile_options([0], disabled_passes=("barriers",))
    finally:
        compiler_enable_remat_pass.update(True)
    disabled = dict(options.env_option_overrides)["xla_disable_hlo_passes"]
    assert disabled == "rematerialization,barriers"


def test_users_barriers_work_in_a_cut_program():
    def barred(x):
        first, second = lax.optimization_barrier((mixing(x), x))
        return lax.add(first, second)

    compiled = jit(barred).lower(X).compile()
    assert compiled.report().cuts
    np.testing.assert_allclose(
        compiled(X), mixing_numpy(X.astype(np.float64)) + X, rtol=1e-4, atol=1e-7
    )


def test_repeated_expansion_is_one_function():
    def repeated(x):
        return lax.add(lax.igamma(x, x), lax.igamma(lax.add(x, x), x))

    lowered = jit(repeated).lower(X)
    text = lowered.as_text()
    if "call @igamma" in text:
        assert text.count('inlineable = "false"') == 1
    once = [jit(lax.igamma)(a, X) for a in (X, X + X)]
    np.testing.assert_allclose(lowered.compile()(X), np.add(*once), rtol=1e-6)
