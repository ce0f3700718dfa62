# SPDX-License-Identifier: Apache-2.0
"""`olympus.tools.olympus_to_ir` under its name in JAX."""

from .._faces import present as _present
from .olympus_to_ir import (
    main,
    olympus_to_hlo,
    olympus_to_ir,
    olympus_to_tf,
    parse_shape_str,
    set_up_flags,
    tf_wrap_with_input_names,
)
from .olympus_to_ir import olympus_to_hlo as jax_to_hlo
from .olympus_to_ir import olympus_to_ir as jax_to_ir
from .olympus_to_ir import olympus_to_tf as jax_to_tf

__all__ = [
    "jax_to_hlo",
    "jax_to_ir",
    "jax_to_tf",
    "main",
    "olympus_to_hlo",
    "olympus_to_ir",
    "olympus_to_tf",
    "parse_shape_str",
    "set_up_flags",
    "tf_wrap_with_input_names",
]

_present(__name__)
