# SPDX-License-Identifier: Apache-2.0
"""Shardings: which device holds which part of an array, computed from mesh and partition spec.

Modules here import nothing else of this package.
"""
