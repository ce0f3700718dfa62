# SPDX-License-Identifier: Apache-2.0
"""The instruction set: each operation has a primitive, a shape rule and a function to bind it."""

import typing as _typing

from ..loading import lazy_exports as _lazy_exports
from ..programs.primitives import add_late_declarations as _add_late_declarations
from .annotations import *  # noqa: F403
from .broadcasting import *  # noqa: F403
from .callbacks import *  # noqa: F403
from .calls import *  # noqa: F403
from .contractions import *  # noqa: F403
from .conversion import *  # noqa: F403
from .creation import *  # noqa: F403
from .dimensions import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .extended import *  # noqa: F403
from .fft import *  # noqa: F403
from .gathering import *  # noqa: F403
from .indexing import *  # noqa: F403
from .later import MODULE_OF as _MODULE_OF
from .later import load_all as _load_all
from .logic import *  # noqa: F403
from .mathematics import *  # noqa: F403
from .named_axes import *  # noqa: F403
from .reductions import *  # noqa: F403
from .scattering import *  # noqa: F403
from .shaping import *  # noqa: F403
from .sorting import *  # noqa: F403
from .special import *  # noqa: F403
from .tokens import *  # noqa: F403
from .transfer import *  # noqa: F403
from .window_shapes import *  # noqa: F403
from .windows import *  # noqa: F403

if _typing.TYPE_CHECKING:
    # These modules are loaded when first used; see the table in `later`.
    from .approximate import *  # noqa: F403
    from .collectives import *  # noqa: F403
    from .composites import *  # noqa: F403
    from .control_flow import *  # noqa: F403
    from .control_flow.linear_solves import *  # noqa: F403
    from .convolution import *  # noqa: F403
    from .convolution_shapes import *  # noqa: F403
    from .convolution_variants import *  # noqa: F403
    from .dot_algorithms import *  # noqa: F403
    from .ordered_selection import *  # noqa: F403
    from .point_to_point import *  # noqa: F403
    from .ragged import *  # noqa: F403
    from .ragged_exchange import *  # noqa: F403
    from .random_bits import *  # noqa: F403
    from .scaled_products import *  # noqa: F403


_add_late_declarations(_load_all)

if not _typing.TYPE_CHECKING:  # type checkers find the names in the imports above
    __getattr__, __dir__ = _lazy_exports(__name__, _MODULE_OF)
