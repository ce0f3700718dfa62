# SPDX-License-Identifier: Apache-2.0
"""Calls: primitives whose parameters hold the program of a function.

The modules import `core` only.
"""
