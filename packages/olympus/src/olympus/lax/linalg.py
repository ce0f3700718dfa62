# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of the instruction set."""

from olympus_ir.lax.linalg import *  # noqa: F403
from olympus_ir.lax.linalg import qdwh as qdwh

from .._faces import present as _present

_present(__name__)
