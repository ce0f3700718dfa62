# SPDX-License-Identifier: Apache-2.0
"""Special functions as programs of other operations, for compilers that lack them.

They hold for operands of equal shapes; see `elementwise.expansion`, which brings those about.
"""
