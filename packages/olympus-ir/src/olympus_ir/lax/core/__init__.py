# SPDX-License-Identifier: Apache-2.0
"""Foundations of the families: operands, axes, sizes, declarations of primitives.

A module here declares no primitive and imports no family.
"""
