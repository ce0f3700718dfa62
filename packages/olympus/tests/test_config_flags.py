# SPDX-License-Identifier: Apache-2.0
"""Flags of the configuration that affect compiling, indexing and tracing."""

from __future__ import annotations

import contextlib
import logging
import re
import subprocess
import sys

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp


@contextlib.contextmanager
def flag(name: str, value):
    name = f"olympus_{name}"
    saved = getattr(olympus.config, name)
    olympus.config.update(name, value)
    try:
        yield
    finally:
        olympus.config.update(name, saved)


def test_no_tracing_refuses_new_programs() -> None:
    doubled = olympus.jit(lambda x: x * 2)
    x, wide = jnp.float32(1), jnp.ones(2)
    assert doubled(x) == 2
    with olympus.no_tracing(True):
        assert doubled(x) == 2
        with pytest.raises(RuntimeError, match="re-tracing function <lambda> at .* for `jit`"):
            doubled(wide)
        with pytest.raises(RuntimeError, match="for `jit`, but 'no_tracing' is set"):
            olympus.make_olympuspr(lambda x: x)(x)
    np.testing.assert_array_equal(doubled(wide), [2, 2])


def test_no_execution_refuses_calls() -> None:
    doubled = olympus.jit(lambda x: x * 2)
    x = jnp.float32(1)
    doubled(x)
    with olympus.no_execution(True):
        with pytest.raises(RuntimeError, match="tried to execute the function jit__lambda"):
            doubled(x)
        with pytest.raises(RuntimeError, match="no_execution"):
            jnp.sin(x)
        assert doubled.lower(x).compile().as_text()
        assert str(olympus.make_olympuspr(doubled)(x))
    assert doubled(x) == 2


def outer(x):
    return inner(x)


def inner(x):
    return jnp.sin(x)


def lines_in_locations() -> tuple[int, list[str]]:
    text = olympus.jit(lambda x: outer(x)).lower(1.0).as_text(debug_info=True)
    return text.count("callsite"), re.findall(r'"([^"]*test_config_flags.py)"', text)


def test_locations_in_programs() -> None:
    count, files = lines_in_locations()
    assert count >= 2 and len(files) >= 3
    with flag("traceback_in_locations_limit", 2):
        assert lines_in_locations()[0] == 1
    with flag("traceback_in_locations_limit", 0):
        assert lines_in_locations() == (0, [])
    with flag("include_full_tracebacks_in_locations", False):
        assert lines_in_locations()[0] == 0 and lines_in_locations()[1] == files[:1]
    with flag("hlo_source_file_canonicalization_regex", ".*/"):
        assert set(lines_in_locations()[1]) == {"test_config_flags.py"}
    assert lines_in_locations() == (count, files)


def test_static_indices_are_checked_by_flag() -> None:
    x = jnp.arange(6).reshape(2, 3)
    assert x[5, 7] == 5
    with flag("check_static_indices", True):
        assert x[1, -3] == 3 and x[..., -1, None].shape == (2, 1) and x[1:9].shape == (1, 3)
        with pytest.raises(IndexError, match="index 3 out of bounds for axis 1 with size 3"):
            x[0, 3]
        with pytest.raises(IndexError, match="index -3 out of bounds for axis 0 with size 2"):
            x[-3]
        with pytest.raises(IndexError, match="index 3 out of bounds for axis 1"):
            olympus.jit(lambda x: x[..., 3])(x)
        assert x[jnp.array([7]), 0].shape == (1,) and x.at[7].set(1).shape == (2, 3)
    assert x[-3, 0] == 0


def test_large_constants_warn_by_flag(recwarn) -> None:
    constant = jnp.ones(1000)
    with flag("captured_constants_warn_bytes", 4000):
        olympus.jit(lambda x: x + constant).lower(1.0)
        assert "constants were captured during lowering (0.00MB" in str(recwarn.pop().message)
        olympus.jit(lambda x: x + constant[:999]).lower(jnp.ones(999))
    recwarn.clear()
    with flag("captured_constants_warn_bytes", -1):
        olympus.jit(lambda x: x - constant).lower(1.0)
    assert not recwarn


def test_large_constants_are_reported_with_their_lines(recwarn) -> None:
    constants = jnp.ones(1000), jnp.ones(2000)

    def used(x):
        return x + constants[0].sum(), constants[1]

    with flag("captured_constants_warn_bytes", 4000), flag("captured_constants_report_frames", 1):
        olympus.jit(used).lower(1.0)
    message = str(recwarn.pop().message)
    lines = message.splitlines()
    assert lines[1] == "  float32[2000], which the function returns"
    assert lines[2].startswith("  float32[1000], first used by `reduce_sum` at")
    assert "test_config_flags.py" in lines[3] and "used)" in lines[3] and len(lines) == 4


def test_frames_of_leaked_tracers() -> None:
    leaked = []

    def leak(x):
        leaked.append(outer(x))
        return x

    def frames() -> int:
        olympus.jit(lambda x: leak(x))(1.0)
        with pytest.raises(olympus.errors.UnexpectedTracerError) as raised:
            _ = leaked.pop() + 1
        return str(raised.value).count("called from")

    assert 0 < frames() <= 4
    with flag("tracer_error_num_traceback_frames", 2):
        assert frames() == 1
    with flag("tracer_error_num_traceback_frames", 1):
        assert frames() == 0


def test_version_of_the_profile() -> None:
    from olympus.extend.backend import get_compile_options

    assert get_compile_options(1, 1).profile_version == 0
    with flag("xla_profile_version", 3):
        assert get_compile_options(1, 1).profile_version == 3


def test_order_of_devices() -> None:
    in_order = olympus.devices()
    assert in_order == sorted(in_order, key=lambda device: (device.process_index, device.id))
    with flag("sort_devices_by_process_index", False):
        assert olympus.devices() == in_order[0].client.devices()


def test_clients_that_outlive_their_backend() -> None:
    program = """
import olympus, olympus.numpy as jnp
from olympus.extend.backend import clear_backends
olympus.config.update("olympus_debug_leaked_clients_on_clear_backends", True)
x = jnp.ones(3)
try:
    clear_backends()
except RuntimeError as error:
    assert "still in use" in str(error)
    print("reported")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "reported\n", done.stderr


def test_residuals_of_checkpoint(caplog) -> None:
    with flag("log_checkpoint_residuals", True), caplog.at_level(logging.WARNING):
        olympus.grad(olympus.checkpoint(lambda x: jnp.sin(jnp.sin(x))))(1.0)
    assert "remat-decorated function saving inputs with shapes:\n  float32[]" in caplog.text


def test_residuals_that_a_policy_keeps(caplog) -> None:
    def policy(primitive, *_, **__):
        return primitive.name == "cos"

    with caplog.at_level(logging.DEBUG, "olympus._src.ad_checkpoint"):
        olympus.grad(olympus.checkpoint(lambda x: jnp.sin(jnp.sin(x) * x), policy=policy))(1.0)
    assert "saving inputs with shapes:\n  float32[]\nand saving these intermediates:" in caplog.text
    assert "  float32[] from output of cos from " in caplog.text


def test_the_compilers_rematerialization() -> None:
    from olympus.extend.backend import get_compile_options

    def disabled() -> list[str]:
        build = get_compile_options(1, 1).executable_build_options
        return build.debug_options.xla_disable_hlo_passes

    assert "rematerialization" not in disabled()
    with flag("compiler_enable_remat_pass", False):
        assert "rematerialization" in disabled()
