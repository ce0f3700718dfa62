# SPDX-License-Identifier: Apache-2.0
"""Tests that errors name the argument that is wrong, and the code to write."""

from __future__ import annotations

import pydoc
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.interpreters.ad
import olympus.numpy as jnp
import olympus.stages
from olympus import lax


def _exchange(x: Any) -> Any:
    return lax.all_to_all(x, "examples", 0, 0)


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], tuple[str, ...]]] = {
    "aux": (
        lambda: olympus.grad(lambda x: x**2, has_aux=True)(1.0),
        TypeError,
        ("has_aux=True", "(loss, aux)"),
    ),
    "argnums": (
        lambda: olympus.grad(lambda x, y: x * y, argnums="y")(1.0, 2.0),
        TypeError,
        ("argnums", "'y'", "by position"),
    ),
    "all_to_all": (
        lambda: olympus.vmap(_exchange, axis_name="examples")(jnp.ones((4, 3))),
        ValueError,
        ("'examples'", "(3,)", "4 and 3"),
    ),
    "scan": (
        lambda: lax.scan(
            lambda c, x: (c, None), 0.0, {"a": jnp.ones(3), "b": jnp.ones(3), "c": jnp.ones((4, 2))}
        ),
        ValueError,
        ("3, 3, 4", "xs['a'] is float32[3]", "xs['c'] is float32[4,2]"),
    ),
    "map": (
        lambda: lax.map(lambda x: x, (jnp.ones(3), jnp.ones(4)), batch_size=2),
        ValueError,
        ("xs[0] is float32[3]", "xs[1] is float32[4]"),
    ),
    "policy": (
        lambda: olympus.grad(
            olympus.checkpoint(jnp.sin, policy=olympus.checkpoint_policies.save_only_these_names)
        )(1.0),
        TypeError,
        ("save_only_these_names", "call it first"),
    ),
    "branches": (
        lambda: lax.switch(1, [lambda x: x, lambda x: (x, x)], 1.0),
        TypeError,
        ("branch 0 is", "branch1 is"),
    ),
    "pmap": (
        lambda: olympus.pmap(lambda x: lax.psum(x, "i"))(jnp.arange(1)),
        NameError,
        ("axis name: i", "bound axis names: none"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_names_cause_and_repair(name: str) -> None:
    mistake, kind, words = MISTAKES[name]
    with pytest.raises(kind) as caught:
        mistake()
    text = str(caught.value)
    for word in words:
        assert word in text
    assert "olympus_" not in text


def test_exported_function_names_platforms_to_export_for() -> None:
    export = olympus.export.export(olympus.jit(lambda x: x * 2), platforms=["tpu"])
    with pytest.raises(ValueError, match=re.escape("platforms=['cpu', 'tpu']")):
        export(np.ones(3, np.float32)).call(np.ones(3, np.float32))


def test_flags_show_themselves() -> None:
    device = olympus.devices()[0]
    assert repr(olympus.default_device(device)) == f"default_device({device!r})"
    assert repr(olympus.enable_x64(True)) == "enable_x64(True)"


@pytest.mark.parametrize(
    "kind",
    [
        *(olympus.custom_vjp, olympus.custom_jvp, olympus.sharding.PartitionSpec),
        *(olympus.sharding.AbstractMesh, olympus.stages.Compiled, olympus.stages.Lowered),
        *(olympus.interpreters.ad.JVPTracer, olympus.core.Tracer, olympus.Ref),
    ],
)
def test_help_names_no_inner_package(kind: type) -> None:
    assert not re.search(r"olympus_\w+\.", pydoc.plain(pydoc.render_doc(kind)))
