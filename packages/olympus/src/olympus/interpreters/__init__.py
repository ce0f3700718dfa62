# SPDX-License-Identifier: Apache-2.0
"""The interpreters of primitives and their rule tables, under JAX's names.

A library reads and adds rules of primitives here as it does with JAX: as items of dictionaries,
with JAX's signatures. The dictionaries are views of OLYMPUS's own tables
(`olympus_ir.programs.rules.RuleTable`).
"""

from .. import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__, {}, ("ad", "batching", "mlir", "partial_eval", "pxla", "xla")
)
