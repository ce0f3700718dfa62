# SPDX-License-Identifier: Apache-2.0
"""Linear operators of the SciPy interface: `olympus.scipy.sparse.linalg`."""

from ... import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {}, ("linalg",))
