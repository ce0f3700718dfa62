# SPDX-License-Identifier: Apache-2.0
"""Dtypes, promotion, abstract values, placement, layouts, memory spaces and effects.

This package may import `trees` and the packages below it.
"""
