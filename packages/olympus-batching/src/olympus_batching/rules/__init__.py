# SPDX-License-Identifier: Apache-2.0
"""The batching rules, with one module for each family of primitives.

`tables.batching_rules` imports a module at the first lookup of a primitive of its family.
"""
