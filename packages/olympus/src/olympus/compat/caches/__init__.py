# SPDX-License-Identifier: Apache-2.0
"""Stores of compiled programs, their keys, and compilation, under JAX's private names.

This folder imports `olympus.compat.counterparts`, and is imported when a name is first used.
"""
