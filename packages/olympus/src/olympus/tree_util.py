# SPDX-License-Identifier: Apache-2.0
"""Pytrees: nested containers of arrays."""

from olympus_ir.trees.pytrees import *  # noqa: F403

from ._faces import present as _present

_present(__name__)
