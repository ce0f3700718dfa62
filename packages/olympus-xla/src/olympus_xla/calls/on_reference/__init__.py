# SPDX-License-Identifier: Apache-2.0
"""Calls evaluated by the NumPy reference: the first calls of eager programs and of `jit(tiers=)`.

This folder imports the layers below `calls`, and modules of `calls` that compile programs.
"""
