# SPDX-License-Identifier: Apache-2.0
"""Typed keys: primitives, rules of the primitives, and functions that make and split keys.

Modules of this folder import `generators`, but not `samplers`.
"""
