# SPDX-License-Identifier: Apache-2.0
"""Resampling of images."""

from olympus_scipy.images import ResizeMethod, resize, scale_and_translate

from ._faces import present as _present

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

_present(__name__)
