# SPDX-License-Identifier: Apache-2.0
"""The NumPy API composed from the OLYMPUS instruction set.

Functions, dtypes and constants have NumPy's names. Arrays are immutable. Dtypes are 32 bits wide by
default. Python scalars are converted to the dtype of the arrays with which they are combined.
"""

import typing as _typing

from olympus_ir.diagnostics.source_info import register_library_folder as _register_library_folder
from olympus_ir.loading import lazy_exports as _lazy_exports
from olympus_ir.types.arrays import Array
from olympus_ir.types.promotion import promote_types as promote_types

from .__about__ import __version__ as __version__
from .arrays.constants import *  # noqa: F403
from .arrays.creation import *  # noqa: F403
from .arrays.filling import *  # noqa: F403
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
from .elementwise.ufunc import frompyfunc as frompyfunc
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
    # These modules are loaded when first used; see the table in `lazy_names`.
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

if not _typing.TYPE_CHECKING:  # type checkers know the names from the imports above
    __getattr__, __dir__ = _lazy_exports(__name__, _module_of, ("fft", "linalg"))

_attach()

_register_library_folder(__path__[0])  # noqa: F405
