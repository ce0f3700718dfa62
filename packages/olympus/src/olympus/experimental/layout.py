# SPDX-License-Identifier: Apache-2.0
"""Memory layouts of arrays."""

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    _lazy.names_from("olympus_xla.arrays.layouts", "Format", "Layout", "with_layout_constraint"),
)
