# SPDX-License-Identifier: Apache-2.0
"""Dtypes, promotion, abstract values, placement, layouts, memory spaces and effects.

May import `trees` and below.
"""
