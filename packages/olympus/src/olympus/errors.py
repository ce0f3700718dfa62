# SPDX-License-Identifier: Apache-2.0
"""The errors that OLYMPUS raises."""

from olympus_ir.diagnostics.errors import *  # noqa: F403

from . import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})
