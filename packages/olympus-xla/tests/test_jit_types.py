# SPDX-License-Identifier: Apache-2.0
"""The typed options of `jit`, compared with its signature."""

from __future__ import annotations

import inspect

from olympus_xla.calls.jit import jit
from olympus_xla.calls.jit_types import JitKeywords, JittedFunction


def test_options_match_the_signature():
    parameters = inspect.signature(jit).parameters.values()
    keywords = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    assert set(JitKeywords.__annotations__) == keywords


def test_declared_members_exist():
    compiled = jit(lambda x: x)
    declared = {name for name in vars(JittedFunction) if name in ("lower", "trace", "eval_shape")}
    assert declared == {"lower", "trace", "eval_shape"}
    for name in (*declared, *JittedFunction.__annotations__, "clear_cache", "__get__"):
        assert hasattr(compiled, name), name
