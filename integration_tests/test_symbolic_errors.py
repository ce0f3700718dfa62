# SPDX-License-Identifier: Apache-2.0
"""Programs that want sizes which symbolic shapes do not have."""

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import export


@pytest.mark.parametrize(
    "function, kind, message",
    [
        (lambda x: x.reshape(2, -1), olympus.errors.InconclusiveDimensionOperation, "evenly"),
        (lambda x: jnp.arange(0, x.shape[0], 0), ValueError, "step == 0"),
        (
            lambda x: jnp.arange(0, x.shape[0], x.shape[0] - 2),
            olympus.errors.InconclusiveDimensionOperation,
            "> 0 or < 0",
        ),
        (lambda x: jnp.squeeze(x), ValueError, "axis=None is not supported"),
        (lambda x: jnp.split(x, x.shape[0]), ValueError, "symbolic number of sections"),
        (lambda x: jnp.fft.fft(x), NotImplementedError, "symbolic size"),
        (lambda x: jnp.pad(x, 1, mode="reflect"), ValueError, "Shape polymorphism is supported"),
        (
            lambda x: olympus.random.permutation(olympus.random.key(0), x),
            NotImplementedError,
            "shape polymorphism for `permutation`",
        ),
        (lambda x: list(x), olympus.errors.InconclusiveDimensionOperation, "requires a constant"),
    ],
)
def test_functions_that_need_constant_sizes_raise(function, kind, message):
    (a,) = export.symbolic_shape("a")
    with pytest.raises(kind, match=message):
        olympus.jit(function).eval_shape(olympus.ShapeDtypeStruct((a,), "float32"))


def test_symbolic_dimensions_outside_of_export_raise():
    (a,) = export.symbolic_shape("a")
    with pytest.raises(Exception, match="Encountered dimension variable 'a'"):
        jnp.ones((a,))


def test_constraints_on_variables_that_an_equality_replaces():
    spec = export.symbolic_shape("a, b", constraints=["max(a, b) == 4", "a == b"])
    exported = export.export(olympus.jit(lambda x: x))(olympus.ShapeDtypeStruct(spec, "float32"))
    exported.call(np.ones((4, 4), "float32"))
    with pytest.raises(ValueError, match=r"'max\(a, b\) - 4' to be equal to 0, but found -1"):
        exported.call(np.ones((3, 3), "float32"))
