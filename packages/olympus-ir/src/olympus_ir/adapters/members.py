# SPDX-License-Identifier: Apache-2.0
"""Imports the modules that attach members for other libraries to classes of the core.

`olympus_ir` imports this module.
"""

from __future__ import annotations

from . import program_members as program_members
from . import trace_members as trace_members
from . import tracer_members as tracer_members
from . import type_members as type_members
