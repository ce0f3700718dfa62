# SPDX-License-Identifier: Apache-2.0
"""Differentiation rules of references from outside the function, which have no tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from olympus_ir.references import primitives as references

from ..forward.held_references import differentiated_write
from ..tables import jvp_rules

# Traces handle references made inside a differentiated function before they look up rules, so these
# rules apply to references from outside.


def _refused(primitive: Any) -> Any:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> NoReturn:
        raise differentiated_write(primitive, primals[0])

    return rule


for _primitive in (references.swap_p, references.addupdate_p):
    jvp_rules.define(_primitive, _refused(_primitive), derived="refuses references from outside")

for _primitive in (
    references.get_p,
    references.new_ref_p,
    references.empty_ref_p,
    references.freeze_p,
    references.free_ref_p,
):
    jvp_rules.exempt(
        _primitive,
        reason="the traces of derivatives hold the arrays of references that are made under them, "
        "so that reading them is a pure operation",
    )
