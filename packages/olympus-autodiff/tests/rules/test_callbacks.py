# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import custom_jvp, grad, jvp
from olympus_ir import lax


def test_debug_print_has_no_effect_on_derivatives(capsys):
    def f(x):
        lax.debug_print("x = {}", x)
        return lax.mul(x, x)

    assert grad(f)(3.0) == 6.0
    assert jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    assert capsys.readouterr().out == "x = 3.0\nx = 3.0\n"


def test_callbacks_see_primal_values():
    seen = []

    def f(x):
        lax.debug_callback(lambda x: seen.append(float(x)), x)
        return lax.mul(x, x)

    assert grad(f)(3.0) == 6.0
    assert seen == [3.0]


def sine(x):
    return lax.pure_callback(np.sin, np.zeros((), np.float32), x)


def test_callbacks_without_rule_raise():
    with pytest.raises(ValueError, match=r"Pure callbacks do not support JVP.*custom_jvp"):
        grad(sine)(1.0)
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        grad(lambda x: lax.io_callback(np.sin, np.zeros((), np.float32), x))(1.0)


def test_callback_with_custom_rule():
    f = custom_jvp(sine)
    f.defjvps(lambda t, y, x: lax.mul(t, lax.cos(x)))
    assert grad(f)(0.0) == 1.0
    assert grad(lambda x: sine(lax.stop_gradient(x)))(0.0) == 0.0
