# SPDX-License-Identifier: Apache-2.0
"""Untrusted programs are first parsed in a separate process, which may crash."""

import numpy as np
import pytest

import olympus_export as export
from olympus_export.functions import vetting
from olympus_ir import lax
from olympus_xla import jit

X = np.arange(3, dtype=np.float32)


# A reader that says that it is ready, and no more.
_READY = "import sys; sys.stdout.buffer.write(bytes(8)); sys.stdout.buffer.flush()\n"


@pytest.fixture(scope="module")
def exported():
    return export.export(jit(lambda x: lax.sin(lax.sin(x))))(X)


def test_valid_programs_pass(exported, tmp_path):
    loaded = export.deserialize(exported.serialize(vjp_order=1), untrusted=True)
    np.testing.assert_allclose(loaded.call(X), np.sin(np.sin(X)), rtol=1e-6)
    export.freeze(lax.sin, X).save(tmp_path / "sine")
    found = export.load_frozen(tmp_path / "sine", untrusted=True)
    np.testing.assert_allclose(found(X), np.sin(X), rtol=1e-6)


def test_damaged_programs_raise(exported):
    module = exported.mlir_module_serialized
    with pytest.raises(ValueError, match="the program is damaged: ValueError"):
        vetting.vet(module[: len(module) // 2])
    vetting.vet(module)


def test_crashed_reader_process_is_restarted(exported, monkeypatch):
    vetting._end()
    monkeypatch.setattr(vetting, "_COMMAND", _READY + "import os; sys.stdin.read(9); os.abort()")
    with pytest.raises(ValueError, match="died with exit status -6"):
        vetting.vet(exported.mlir_module_serialized)
    monkeypatch.undo()
    vetting.vet(exported.mlir_module_serialized)


def test_unresponsive_reader_process_is_killed(exported, monkeypatch):
    vetting._end()
    monkeypatch.setattr(vetting, "_COMMAND", _READY + "import time; time.sleep(600)")
    monkeypatch.setattr(vetting, "PATIENCE", 0.5)
    with pytest.raises(ValueError, match="reading it did not end within"):
        vetting.vet(exported.mlir_module_serialized)
    monkeypatch.undo()
    vetting.vet(exported.mlir_module_serialized)
