# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays as batches of compressed rows."""

import olympus_sparse as _sparse

from ... import _lazy

__all__ = [name for name in _sparse.__all__ if name.lower().startswith("bcsr")]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, _lazy.names_from("olympus_sparse", *__all__))
