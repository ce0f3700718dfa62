# SPDX-License-Identifier: Apache-2.0
"""Batches of sparse matrices in compressed sparse row format."""

import olympus_sparse as _sparse

from ... import _lazy

__all__ = [name for name in _sparse.__all__ if name.lower().startswith("bcsr")]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, _lazy.names_from("olympus_sparse", *__all__))
