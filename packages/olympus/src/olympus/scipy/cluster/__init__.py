# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: clustering."""

from . import vq as vq
