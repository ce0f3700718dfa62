# SPDX-License-Identifier: Apache-2.0
"""High types, which users define, and primitives whose rules are methods.

The modules import `forward` and the package's root.
"""
