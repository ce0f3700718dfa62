# SPDX-License-Identifier: Apache-2.0
"""Calls evaluated by the NumPy reference: first calls of eager programs, and tiers.

This folder imports the folders below `calls`, and modules of `calls` that compile programs.
"""
