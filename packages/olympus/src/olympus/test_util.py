# SPDX-License-Identifier: Apache-2.0
"""Comparison of derivatives with finite differences."""

from olympus_autodiff.reverse.derivative_checks import check_grads, check_jvp, check_vjp

from ._faces import present as _present

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_present(__name__)
