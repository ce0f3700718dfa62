# SPDX-License-Identifier: Apache-2.0
"""Methods and operators of the array classes, attached when this folder is imported.

They are functions transformed by `sparsify`, so the modules here import `sparsification`.
"""

from __future__ import annotations

from . import bcoo, bcsr  # noqa: F401 - each attaches the methods of its class
