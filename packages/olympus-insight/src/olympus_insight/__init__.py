# SPDX-License-Identifier: Apache-2.0
"""Reports on programs: memory, costs, pictures, and the causes of repeated traces.

Importing this package loads no report. The first use of a name imports its module.
"""

from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.loading import lazy_exports

from .__about__ import __version__ as __version__

_MODULES = {
    "Explanation": "explanations",
    "explain": "explanations",
    "MemoryReport": "memory_reports",
    "memory": "memory_reports",
    "Picture": "program_pictures",
    "show": "program_pictures",
    "Profile": "profiles",
    "profile": "profiles",
}

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)

register_library_folder(__path__[0])
