# SPDX-License-Identifier: Apache-2.0
"""Images sampled at other places."""

from olympus_scipy.images import ResizeMethod, resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
