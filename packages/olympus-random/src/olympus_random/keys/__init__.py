# SPDX-License-Identifier: Apache-2.0
"""Typed keys: their primitives, the rules of these, and the functions that make and split keys.

Modules here import `generators`, not `samplers`.
"""
