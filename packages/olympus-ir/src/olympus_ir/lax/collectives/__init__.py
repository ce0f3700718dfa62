# SPDX-License-Identifier: Apache-2.0
"""Collectives: operations across a named axis, the axes in scope, partial sums.

The modules import `core`, `elementwise`, `shaping` and `indexing`.
"""
