# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations: arithmetic, mathematics, logic, conversions between dtypes.

The modules import `core` only.
"""
