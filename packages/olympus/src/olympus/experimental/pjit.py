# SPDX-License-Identifier: Apache-2.0
"""The name under which programs for several devices were compiled before `jit` did it."""

from __future__ import annotations

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__, {}, deprecated=_lazy.names_from("olympus", "pjit=jit")
)
