# SPDX-License-Identifier: Apache-2.0
"""The registrations that jaxlib's C++ call paths need, and what they cost at import."""

import gc
import sys

import numpy as np
import pytest

from olympus_ir.types.avals import ShapedArray
from olympus_xla import _jaxlib, device_put


def test_import_creates_no_client_and_leaves_no_stub(run_python):
    code = """
import sys, olympus_xla
from olympus_xla.platforms import backends
print(backends.are_backends_initialized())
print([name for name in sys.modules if name.split(".")[0] == "jax"])
olympus_xla.devices()
print(backends.are_backends_initialized())
print([name for name in sys.modules if name.split(".")[0] == "jax"])
"""
    assert run_python(code).split() == ["False", "[]", "True", "[]"]


def test_refuses_to_run_beside_jax(run_python, tmp_path):
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("")
    before = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import jax, olympus_xla"
    after = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import importlib.util, olympus_xla
assert importlib.util.find_spec("jax").origin.startswith({str(tmp_path)!r})
olympus_xla.devices()
import jax
"""
    for code, first in ((before, "JAX"), (after, "OLYMPUS")):
        result = run_python(code, check=False)
        assert result.returncode == 1
        assert f"ImportError: {first} is imported in this process" in result.stderr


def test_arrays_that_cpp_makes_have_our_types(devices):
    array = device_put(np.float32(1), devices[0])
    imported = _jaxlib.import_dlpack(_jaxlib.export_dlpack(array), devices[0])
    assert imported.aval is ShapedArray((), "float32")


def test_prime_runs_once(devices):
    modules = set(sys.modules)
    _jaxlib.prime(None)  # would fail, were it not done
    assert set(sys.modules) == modules


def test_garbage_collection_reaches_cpp():
    assert _jaxlib._collect_deferred in gc.callbacks
    for phase in ("start", "stop"):
        assert _jaxlib._collect_deferred(phase, {}) is None


def test_garbage_collection_runs_no_bytecode():
    """Python would raise the exception of a signal there, and ignore it."""
    entered = []
    sys.setprofile(lambda frame, event, argument: entered.append(event))
    _jaxlib._collect_deferred("stop", {})
    sys.setprofile(None)
    assert "call" not in entered and "c_call" in entered


@pytest.mark.skipif(sys.platform == "win32", reason="the log goes elsewhere")
def test_client_creation_prints_nothing(run_python):
    result = run_python("import olympus_xla; olympus_xla.devices()", check=False)
    assert result.returncode == 0
    assert result.stderr == ""
