# SPDX-License-Identifier: Apache-2.0
"""Calls that the NumPy reference runs: first calls of eager programs, and of functions with tiers.

This folder imports the folders below `calls`, and modules of `calls` that compile programs.
"""
