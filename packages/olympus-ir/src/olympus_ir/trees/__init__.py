# SPDX-License-Identifier: Apache-2.0
"""Pytrees: registration, flattening, paths and prefixes; functions of trees as flat functions.

May import `diagnostics` and below.
"""
