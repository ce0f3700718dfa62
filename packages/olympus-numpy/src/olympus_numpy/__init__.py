# SPDX-License-Identifier: Apache-2.0
"""The NumPy API composed from the OLYMPUS instruction set.

Functions, dtypes and constants have NumPy's names. Arrays are immutable, dtypes 32 bits wide by
default, and Python scalars take the dtype of the arrays that they meet.
"""

import builtins as _builtins
import typing as _typing
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

from olympus_ir.diagnostics.source_info import register_library_folder as _register_library_folder
from olympus_ir.types.arrays import Array
from olympus_ir.types.promotion import promote_types as promote_types

from .__about__ import __version__ as __version__
from .arrays.constants import *  # noqa: F403
from .arrays.creation import *  # noqa: F403
from .arrays.joining import *  # noqa: F403
from .arrays.nonzero import *  # noqa: F403
from .arrays.repeating import *  # noqa: F403
from .arrays.scalar_types import *  # noqa: F403
from .arrays.selection import *  # noqa: F403
from .arrays.shaping import *  # noqa: F403
from .core.promotion import broadcast_shapes as broadcast_shapes
from .elementwise.arithmetic import *  # noqa: F403
from .elementwise.complex_parts import *  # noqa: F403
from .elementwise.floats import *  # noqa: F403
from .elementwise.logic import *  # noqa: F403
from .elementwise.powers import *  # noqa: F403
from .elementwise.transcendental import *  # noqa: F403
from .elementwise.ufunc import ufunc as ufunc
from .indexing.masking import *  # noqa: F403
from .indexing.putting import *  # noqa: F403
from .indexing.taking import *  # noqa: F403
from .lazy_names import MODULE_OF as _module_of
from .methods.array_methods import attach as _attach
from .ordering.searching import *  # noqa: F403
from .ordering.sorting import *  # noqa: F403
from .products.contractions import *  # noqa: F403
from .products.matrices import *  # noqa: F403
from .reductions.cumulative import *  # noqa: F403
from .reductions.extremes import *  # noqa: F403
from .reductions.moments import *  # noqa: F403
from .reductions.sums import *  # noqa: F403
from .reductions.truth import *  # noqa: F403

if _typing.TYPE_CHECKING:
    # Loaded when first used: see the table in `lazy_names` and `__getattr__` below.
    from . import fft as fft
    from . import linalg as linalg
    from .arrays.flipping import *  # noqa: F403
    from .arrays.host import *  # noqa: F403
    from .elementwise.bit_packing import *  # noqa: F403
    from .elementwise.trigonometry import *  # noqa: F403
    from .elementwise.vectorization import *  # noqa: F403
    from .indexing.insertion import *  # noqa: F403
    from .namespace_info import *  # noqa: F403
    from .numerics.calculus import *  # noqa: F403
    from .numerics.index_tricks import *  # noqa: F403
    from .numerics.padding import *  # noqa: F403
    from .numerics.polynomial_roots import *  # noqa: F403
    from .numerics.polynomials import *  # noqa: F403
    from .numerics.ranges import *  # noqa: F403
    from .numerics.statistics import *  # noqa: F403
    from .numerics.windows import *  # noqa: F403
    from .ordering.quantiles import *  # noqa: F403
    from .ordering.sets import *  # noqa: F403
    from .products.convolutions import *  # noqa: F403
    from .products.einsum import *  # noqa: F403
    from .reductions.nan_reductions import *  # noqa: F403

ndarray = Array
bool = bool_  # noqa: F405

_LATER_SUBMODULES = ("fft", "linalg")


def __getattr__(name: str) -> _typing.Any:
    """Loads the module that has ``name`` and keeps all that it exports: this runs once for each."""
    if name == "__all__":  # `from olympus_numpy import *` asks for it
        return [each for each in __dir__() if _is_public(each)]
    if name in _LATER_SUBMODULES:
        return _import_module(f"{__name__}.{name}")
    if name not in _module_of:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _import_module(f"{__name__}.{_module_of[name]}")
    globals().update((each, getattr(module, each)) for each in module.__all__)
    return globals()[name]


def _is_public(name: str) -> _builtins.bool:
    is_inner = isinstance(globals().get(name), _ModuleType) and name not in _LATER_SUBMODULES
    return name[0] != "_" and not is_inner


def __dir__() -> list[str]:
    return sorted({*globals(), *_module_of, *_LATER_SUBMODULES})


_attach()

_register_library_folder(__path__[0])  # noqa: F405
