# SPDX-License-Identifier: Apache-2.0
"""All members that classes of the core have for other libraries; `olympus_ir` imports it."""

from __future__ import annotations

from . import program_members as program_members
from . import trace_members as trace_members
from . import tracer_members as tracer_members
from . import type_members as type_members
