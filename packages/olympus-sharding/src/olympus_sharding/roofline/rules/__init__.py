# SPDX-License-Identifier: Apache-2.0
"""Rules of the roofline model, one module for each family of primitives.

`results.roofline_rules` imports a module when it first looks up a primitive of its family.
"""
