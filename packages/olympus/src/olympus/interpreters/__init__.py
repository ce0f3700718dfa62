# SPDX-License-Identifier: Apache-2.0
"""The interpreters of primitives and their rule tables, under JAX's names.

A library reads and adds rules of primitives here as it does with JAX: by assignment to
dictionaries, in JAX's forms. The tables behind are OLYMPUS's own
(`olympus_ir.programs.rules.RuleTable`).
"""

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__, {}, ("ad", "batching", "mlir", "partial_eval", "pxla", "xla")
)
