# SPDX-License-Identifier: Apache-2.0
"""Interfaces for libraries: primitives, their rules, and the machinery of compilation."""

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {},
    (
        "backend",
        "core",
        "ffi",
        "ifrt_programs",
        "linear_util",
        "lowering",
        "mlir",
        "pallas",
        "random",
        "sharding",
        "source_info_util",
        "xla",
    ),
)
