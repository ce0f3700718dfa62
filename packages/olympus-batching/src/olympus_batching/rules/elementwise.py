# SPDX-License-Identifier: Apache-2.0
"""Batching rules of primitives that are not elementwise in all respects.

The rules of fully elementwise primitives follow from their declaration; see `tables.elementwise`.
"""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_ir.types.dtypes import itemsize_bits

from ..tables import (
    batching_rules,
    move_dim,
    same_shape_elementwise,
    to_front,
    unary,
)

# The primitive is not declared as elementwise, because a parameter may request a sharding.
batching_rules.define(lax.convert_element_type_p, unary(lax.convert_element_type_p))
# The predicate may be a scalar. All cases have the same shape.
batching_rules.define(lax.select_n_p, same_shape_elementwise(lax.select_n_p, scalars=(0,)))
# The bounds may be scalars. The operand has the shape of the result.
batching_rules.define(lax.clamp_p, same_shape_elementwise(lax.clamp_p, scalars=(0, 2)))


@batching_rules.define(lax.bitcast_convert_type_p)
def _bitcast_convert_type(axis_size: int, args: Any, batch_dims: Any, *, new_dtype: Any) -> Any:
    (operand,), (dim,) = args, batch_dims
    # A bitcast from a narrow to a wide dtype removes the last dimension.
    if itemsize_bits(operand.dtype) < itemsize_bits(new_dtype) and dim == operand.ndim - 1:
        operand, dim = move_dim(operand, dim, 0), 0
    return lax.bitcast_convert_type_p.bind(operand, new_dtype=new_dtype), dim


# The last dimensions of the physical array belong to one element of the extended dtype.


@batching_rules.define(lax.to_edtype_p)
def _to_edtype(axis_size: int, args: Any, batch_dims: Any, *, edtype: Any) -> Any:
    return lax.to_edtype_p.bind(to_front(args[0], batch_dims[0]), edtype=edtype), 0


batching_rules.define(lax.from_edtype_p, unary(lax.from_edtype_p))
