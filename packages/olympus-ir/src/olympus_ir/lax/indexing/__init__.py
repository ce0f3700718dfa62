# SPDX-License-Identifier: Apache-2.0
"""Slices of arrays, and elements at computed positions: reading, replacing, adding.

The modules import `core`, `elementwise` and `shaping`.
"""
