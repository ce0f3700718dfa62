# SPDX-License-Identifier: Apache-2.0
"""Types of values that users define, and primitives whose rules are methods.

The modules import `forward` and the package's root.
"""
