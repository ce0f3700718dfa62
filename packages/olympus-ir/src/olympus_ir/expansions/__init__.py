# SPDX-License-Identifier: Apache-2.0
"""Special functions as programs of other operations, for compilers that lack them.

The functions take operands of equal shapes; `elementwise.expansion` broadcasts operands first.
"""
