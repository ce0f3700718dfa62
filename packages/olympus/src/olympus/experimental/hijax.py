# SPDX-License-Identifier: Apache-2.0
"""High-level primitives, defined by their expansions, and user-defined types of values."""

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "olympus_autodiff.high_types.primitives",
            "AvalMutableQDD",
            "AvalQDD",
            "HiPrimitive",
            "HiPspec",
            "HiType",
            "MutableHiType",
            "aval_method",
            "aval_property",
            "register_hitype",
        ),
        **_lazy.names_from("olympus_autodiff.high_types.calls", "VJPHiPrimitive"),
        **_lazy.names_from("olympus_ir.references.values", "TransformedRef"),
        **_lazy.names_from(
            "olympus_autodiff.zeros",
            "Zero",
            "instantiate_zeros=instantiate",
            "is_undefined_primal",
        ),
        **_lazy.names_from("olympus_ir.types.avals", "AbstractValue", "ShapedArray"),
        **_lazy.names_from("olympus_ir.types.effects", "control_flow_allowed_effects"),
        **_lazy.names_from("olympus_ir.types.references", "AbstractRef"),
    },
)
