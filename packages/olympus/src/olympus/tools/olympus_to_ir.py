# SPDX-License-Identifier: Apache-2.0
"""Writes functions as serialized programs, by ``python -m olympus.tools.olympus_to_ir``."""

import sys

from olympus_export.ir_files import (
    main,
    olympus_to_hlo,
    olympus_to_ir,
    olympus_to_tf,
    parse_shape_str,
    set_up_flags,
    tf_wrap_with_input_names,
)

from .._faces import present as _present

__all__ = [
    "main",
    "olympus_to_hlo",
    "olympus_to_ir",
    "olympus_to_tf",
    "parse_shape_str",
    "set_up_flags",
    "tf_wrap_with_input_names",
]

if __name__ == "__main__":
    main(sys.argv)

_present(__name__)
