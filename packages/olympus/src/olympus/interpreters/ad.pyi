# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_autodiff import SymbolicZero as SymbolicZero
from olympus_autodiff import UndefinedPrimal as UndefinedPrimal
from olympus_autodiff import Zero as Zero
from olympus_autodiff.forward.jvp import JVPTrace as JVPTrace
from olympus_autodiff.forward.jvp import JVPTracer as JVPTracer
from olympus_autodiff.tables import jvp_rules as jvp_rules
from olympus_autodiff.tables import transpose_rules as transpose_rules
from olympus_autodiff.zeros import add_tangents as add_tangents
from olympus_autodiff.zeros import instantiate as _instantiate
from olympus_autodiff.zeros import is_undefined_primal as is_undefined_primal
from olympus_autodiff.zeros import zeros_like_aval as zeros_like_aval
from typing import Any
Callable: Any
Primitive: Any
Sequence: Any
add_olympusvals: Any
add_olympusvals_p: Any
defbilinear: Any
defjvp2: Any
defjvp: Any
deflinear2: Any
deflinear: Any
get_primitive_transpose: Any
instantiate_zeros = _instantiate
jvp: Any
linearize: Any
primitive_jvps: Any
primitive_transposes: Any
transforming: Any
