# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_autodiff import Zero as Zero
from olympus_autodiff.high_types.calls import VJPHiPrimitive as VJPHiPrimitive
from olympus_autodiff.high_types.primitives import AvalMutableQDD as AvalMutableQDD
from olympus_autodiff.high_types.primitives import AvalQDD as AvalQDD
from olympus_autodiff.high_types.primitives import HiPrimitive as HiPrimitive
from olympus_autodiff.high_types.primitives import HiPspec as HiPspec
from olympus_autodiff.high_types.primitives import HiType as HiType
from olympus_autodiff.high_types.primitives import MutableHiType as MutableHiType
from olympus_autodiff.high_types.primitives import aval_method as aval_method
from olympus_autodiff.high_types.primitives import aval_property as aval_property
from olympus_autodiff.high_types.primitives import register_hitype as register_hitype
from olympus_autodiff.zeros import instantiate as _instantiate
from olympus_autodiff.zeros import is_undefined_primal as is_undefined_primal
from olympus_ir.references.values import TransformedRef as TransformedRef
from olympus_ir.types.effects import control_flow_allowed_effects as control_flow_allowed_effects
from typing import Any
AbstractRef: Any
AbstractValue: Any
ShapedArray: Any
instantiate_zeros = _instantiate
