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
from .arithmetic import *  # noqa: F403
from .array_methods import attach as _attach
from .complex_parts import *  # noqa: F403
from .constants import *  # noqa: F403
from .contractions import *  # noqa: F403
from .creation import *  # noqa: F403
from .cumulative import *  # noqa: F403
from .einsum import *  # noqa: F403
from .floats import *  # noqa: F403
from .gathering import *  # noqa: F403
from .joining import *  # noqa: F403
from .later import MODULE_OF as _module_of
from .logic import *  # noqa: F403
from .matrices import *  # noqa: F403
from .moments import *  # noqa: F403
from .powers import *  # noqa: F403
from .promotion import broadcast_shapes as broadcast_shapes
from .reductions import *  # noqa: F403
from .repeating import *  # noqa: F403
from .scalar_types import *  # noqa: F403
from .searching import *  # noqa: F403
from .selection import *  # noqa: F403
from .shaping import *  # noqa: F403
from .sorting import *  # noqa: F403
from .transcendental import *  # noqa: F403
from .ufunc import frompyfunc as frompyfunc
from .ufunc import ufunc as ufunc

if _typing.TYPE_CHECKING:
    # Loaded when first used: see the table in `later` and `__getattr__` below.
    from . import fft as fft
    from . import linalg as linalg
    from .bit_packing import *  # noqa: F403
    from .calculus import *  # noqa: F403
    from .convolutions import *  # noqa: F403
    from .flipping import *  # noqa: F403
    from .host import *  # noqa: F403
    from .index_tricks import *  # noqa: F403
    from .namespace_info import *  # noqa: F403
    from .nan_reductions import *  # noqa: F403
    from .padding import *  # noqa: F403
    from .polynomial_roots import *  # noqa: F403
    from .polynomials import *  # noqa: F403
    from .quantiles import *  # noqa: F403
    from .ranges import *  # noqa: F403
    from .sets import *  # noqa: F403
    from .statistics import *  # noqa: F403
    from .trigonometry import *  # noqa: F403
    from .vectorization import *  # noqa: F403
    from .windows import *  # noqa: F403

ndarray = Array
bool = bool_  # noqa: F405

_LATER_SUBMODULES = ("fft", "linalg")


def __getattr__(name: str) -> _typing.Any:
    """Loads the module that has ``name`` and keeps all that it exports: this runs once for each."""
    if name == "__all__":  # which `from olympus_numpy import *` asks for
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
