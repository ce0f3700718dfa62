# SPDX-License-Identifier: Apache-2.0
"""Dumps of compiled programs to files."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.settings.config import config
from olympus_ir.settings.config_flags import dump_ir_modes, dump_ir_to
from olympus_xla import jit


@pytest.fixture
def folder(tmp_path):
    before = dump_ir_to.value, dump_ir_modes.value
    config.update("olympus_dump_ir_to", str(tmp_path / "programs"))
    yield tmp_path / "programs"
    config.update("olympus_dump_ir_to", before[0])
    config.update("olympus_dump_ir_modes", before[1])


def test_each_compiled_program_is_written(folder):
    @jit
    def first(x):
        return lax.sin(x)

    first(np.ones(3, np.float32))
    first(np.ones(3, np.float32))
    first.lower(np.ones(4, np.float32))  # is not compiled
    (file,) = folder.iterdir()
    assert file.name.endswith("_jit_first_compile.mlir")
    assert "stablehlo.sine" in file.read_text()


def test_dump_ir_modes(folder):
    config.update("olympus_dump_ir_modes", "stablehlo,jaxpr")
    jit(lambda x: lax.cos(x))(1.0)
    assert sorted(file.suffix for file in folder.iterdir()) == [".mlir", ".txt"]
    (text,) = [file.read_text() for file in folder.glob("*.olympuspr.txt")]
    assert "= cos a" in text


def test_unknown_dump_mode_raises(folder):
    config.update("olympus_dump_ir_modes", "poems")
    with pytest.raises(ValueError, match=r"has 'poems'; there are jaxpr, olympuspr, stablehlo"):
        jit(lambda x: lax.tan(x))(1.0)


def test_files_that_cannot_be_written_are_a_warning(folder):
    folder.write_text("a file is in the way")
    with pytest.warns(UserWarning, match="olympus_dump_ir_to: the program .* could not be written"):
        assert jit(lambda x: lax.tan(x))(0.0) == 0.0
