# SPDX-License-Identifier: Apache-2.0
"""Several CPU devices for all tests, and a way to run code in a process of its own."""

import contextlib
import os
import subprocess
import sys

import pytest

import olympus_xla
from olympus_ir.settings.config import config
from olympus_ir.settings.config_cache_flags import enable_compilation_cache
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_sharding import AxisType, make_mesh
from olympus_xla.platforms import backends

if not backends.are_backends_initialized() and config.olympus_num_cpu_devices < 4:
    config.update("olympus_num_cpu_devices", 4)
# What is tested is XLA; test_cold_evaluation.py compares the two.
config.update("olympus_cold_evaluation", "off")


@pytest.fixture
def devices():
    devices = olympus_xla.devices("cpu")
    assert len(devices) >= 4, "another test package brought up the backends with fewer devices"
    return devices[:4]


@pytest.fixture
def mesh(devices):
    return make_mesh((2, 2), ("x", "y"), (AxisType.Auto,) * 2, devices=devices)


@pytest.fixture
def without_cache():
    """Nothing is loaded from disk, for tests that change the source of OLYMPUS in memory."""
    enable_compilation_cache.update(False)
    yield
    enable_compilation_cache.update(True)


@pytest.fixture
def cpu_limits(monkeypatch, without_cache):
    """Sets sizes above which a lowering for CPUs applies; all programs are lowered anew."""

    def set_limits(module, **limits):
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value)
        olympus_xla.clear_caches()

    yield set_limits
    monkeypatch.undo()
    olympus_xla.clear_caches()


@pytest.fixture
def operations_of_xla():
    """Returns a context in which programs have no lowerings of their own for CPUs."""

    @contextlib.contextmanager
    def context():
        cpu_lowerings.update(False)
        try:
            yield
        finally:
            cpu_lowerings.update(True)

    return context


@pytest.fixture
def run_python():
    """Runs code in a new interpreter; returns what it prints. Keyword arguments are variables."""

    def run(code, check=True, **environment):
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OLYMPUS_", "XLA_", "PJRT_"))
        }
        result = subprocess.run(
            [sys.executable, "-c", code],
            env={**own, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        if check:
            assert result.returncode == 0, result.stderr
            return result.stdout.strip()
        return result

    return run
