# SPDX-License-Identifier: Apache-2.0
"""The instruction set: a primitive, a function that binds it, and a shape rule per operation."""

import typing as _typing
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

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
    # Loaded when first used: see the table in `later` and `__getattr__` below.
    from .approximate import *  # noqa: F403
    from .collectives import *  # noqa: F403
    from .composites import *  # noqa: F403
    from .control_flow import *  # noqa: F403
    from .control_flow.linear_solves import *  # noqa: F403
    from .convolution import *  # noqa: F403
    from .convolution_shapes import *  # noqa: F403
    from .convolution_variants import *  # noqa: F403
    from .dot_algorithms import *  # noqa: F403
    from .point_to_point import *  # noqa: F403
    from .ragged import *  # noqa: F403
    from .ragged_exchange import *  # noqa: F403
    from .random_bits import *  # noqa: F403
    from .scaled_products import *  # noqa: F403


_add_late_declarations(_load_all)


def __getattr__(name: str) -> _typing.Any:
    """Loads the module that has ``name`` and keeps all that it exports: this runs once for each."""
    if name == "__all__":  # which `from olympus_ir.lax import *` asks for
        return [each for each in __dir__() if _is_public(each)]
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _import_module(f"{__name__}.{_MODULE_OF[name]}")
    globals().update((each, getattr(module, each)) for each in module.__all__)
    return globals()[name]


def _is_public(name: str) -> bool:
    return name[0] != "_" and not isinstance(globals().get(name), _ModuleType)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
