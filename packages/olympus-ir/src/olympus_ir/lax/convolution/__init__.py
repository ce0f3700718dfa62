# SPDX-License-Identifier: Apache-2.0
"""Convolutions, their dimension numbers, and variants that are made of them.

The modules import `core`, `elementwise`, `shaping`, `contractions` and the shapes of `windows`.
"""
