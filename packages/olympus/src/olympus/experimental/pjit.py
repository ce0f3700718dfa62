# SPDX-License-Identifier: Apache-2.0
"""`pjit`, the former name of `jit` for programs on several devices."""

from __future__ import annotations

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__, {}, deprecated=_lazy.names_from("olympus", "pjit=jit")
)
