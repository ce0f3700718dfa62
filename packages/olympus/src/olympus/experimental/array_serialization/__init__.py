# SPDX-License-Identifier: Apache-2.0
"""Stores arrays of many devices and processes in files, with the library tensorstore."""

from ... import _lazy

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__, {}, ("pytree_serialization", "serialization", "tensorstore_impl")
)
