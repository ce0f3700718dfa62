# SPDX-License-Identifier: Apache-2.0
"""Zero-copy exchange of arrays with other libraries."""

from olympus_xla.arrays.dlpack import from_dlpack, is_supported_dtype

from ._faces import present as _present

__all__ = ["from_dlpack", "is_supported_dtype"]

_present(__name__)
