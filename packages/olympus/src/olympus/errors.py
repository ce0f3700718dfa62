# SPDX-License-Identifier: Apache-2.0
"""The errors that OLYMPUS raises."""

from olympus_ir.diagnostics.errors import *  # noqa: F403

from ._faces import present as _present

_present(__name__)
