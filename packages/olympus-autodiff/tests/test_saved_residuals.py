# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np

from olympus_autodiff import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    print_saved_residuals,
    saved_residuals,
)
from olympus_ir import lax

TABLE = np.array([1.0, 2.0], np.float32)


def f(x, weights):
    y = checkpoint_name(lax.sin(x), "inner")
    return lax.mul(lax.mul(lax.cos(y), weights["w"]), TABLE)


def test_origins_name_arguments_and_lines():
    found = saved_residuals(f, TABLE, {"w": 2.0})
    assert {aval.str_short(short_dtypes=True) for aval, _ in found} <= {"f32[2]", "f32[]"}
    origins = [origin for _, origin in found]
    assert "from the argument weights['w']" in origins
    assert "from a constant" in origins
    assert any(
        origin.startswith("output of cos from ") and "test_saved_residuals.py" in origin
        for origin in origins
    )


def test_printed_residuals_have_types_and_origins(capsys):
    policy = checkpoint_policies.save_only_these_names("inner")
    print_saved_residuals(checkpoint(f, policy=policy), TABLE, weights={"w": 2.0})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["f32[2] from a constant", "f32[2] from the argument x"]
    assert any(line.startswith("f32[2] named 'inner' from ") for line in lines)
