# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: solvers for linear operators, in `olympus.scipy.sparse.linalg`."""

from ... import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {}, ("linalg",))
