# SPDX-License-Identifier: Apache-2.0
"""The base of all formats: the base class, operations on entries, declaration of primitives.

Modules here import nothing else of this package.
"""
