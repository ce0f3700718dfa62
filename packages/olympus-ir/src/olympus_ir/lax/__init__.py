# SPDX-License-Identifier: Apache-2.0
"""The instruction set: each operation has a primitive, a shape rule and a function to bind it.

There is one module or one folder for each family of primitives. Folders of rules in all packages
have the same names. `core` holds what all families use, and no primitives.
"""

import typing as _typing

from ..loading import lazy_exports as _lazy_exports
from ..programs.primitives import add_late_declarations as _add_late_declarations
from .annotations.primitives import *  # noqa: F403
from .callbacks import *  # noqa: F403
from .calls.primitives import *  # noqa: F403
from .collectives.named_axes import *  # noqa: F403
from .contractions.products import *  # noqa: F403
from .core.late_modules import MODULE_OF as _MODULE_OF
from .core.late_modules import load_all as _load_all
from .core.variation import *  # noqa: F403
from .elementwise.arithmetic import *  # noqa: F403
from .elementwise.conversion import *  # noqa: F403
from .elementwise.extended import *  # noqa: F403
from .elementwise.logic import *  # noqa: F403
from .elementwise.mathematics import *  # noqa: F403
from .fft import *  # noqa: F403
from .indexing.gathering import *  # noqa: F403
from .indexing.scattering import *  # noqa: F403
from .indexing.slicing import *  # noqa: F403
from .reductions import *  # noqa: F403
from .shaping.broadcasting import *  # noqa: F403
from .shaping.creation import *  # noqa: F403
from .shaping.dimensions import *  # noqa: F403
from .shaping.rearrangement import *  # noqa: F403
from .sorting.ordering import *  # noqa: F403
from .special import *  # noqa: F403
from .tokens import *  # noqa: F403
from .transfer import *  # noqa: F403
from .windows.reductions import *  # noqa: F403
from .windows.shapes import *  # noqa: F403

if _typing.TYPE_CHECKING:
    # These modules are loaded when first used; see the table in `core.late_modules`.
    from .calls.composites import *  # noqa: F403
    from .collectives.operations import *  # noqa: F403
    from .contractions.dot_algorithms import *  # noqa: F403
    from .contractions.scaled_products import *  # noqa: F403
    from .control_flow import *  # noqa: F403
    from .control_flow.linear_solves import *  # noqa: F403
    from .convolution.convolutions import *  # noqa: F403
    from .convolution.dimension_numbers import *  # noqa: F403
    from .convolution.variants import *  # noqa: F403
    from .point_to_point import *  # noqa: F403
    from .ragged import *  # noqa: F403
    from .ragged_exchange import *  # noqa: F403
    from .random_bits import *  # noqa: F403
    from .sorting.approximate import *  # noqa: F403
    from .sorting.order_statistics import *  # noqa: F403


_add_late_declarations(_load_all)

if not _typing.TYPE_CHECKING:  # type checkers find the names in the imports above
    __getattr__, __dir__ = _lazy_exports(__name__, _MODULE_OF)
