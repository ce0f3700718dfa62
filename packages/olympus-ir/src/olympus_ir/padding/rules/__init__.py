# SPDX-License-Identifier: Apache-2.0
"""Padding rules, one module for each family of primitives.

A rule computes the valid elements of results from padded operands. Elementwise operations need no
rule.
"""
