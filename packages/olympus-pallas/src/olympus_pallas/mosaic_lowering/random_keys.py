# SPDX-License-Identifier: Apache-2.0
"""Random keys in Mosaic: their data, scalars where generators keep their state themselves."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_random.primitives import random_clone_p, random_unwrap_p, random_wrap_p

from ..lowering.tables import mosaic_rules
from .builder import MosaicBuilder


def _same(builder: MosaicBuilder, x: Any, **params: Any) -> Any:
    return x


for _primitive in (
    random_wrap_p,
    random_unwrap_p,
    random_clone_p,
    lax.to_edtype_p,
    lax.from_edtype_p,
):
    mosaic_rules.define(_primitive, _same)
