# SPDX-License-Identifier: Apache-2.0
"""Flags, states that a thread can override, and the names that messages use.

Imports jaxlib's records through `_jaxlib` and nothing else of the package.
"""
