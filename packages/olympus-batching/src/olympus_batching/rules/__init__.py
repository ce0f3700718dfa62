# SPDX-License-Identifier: Apache-2.0
"""The batching rules, one module a family of primitives.

`tables.batching_rules` imports a module when it looks up a primitive of its family first.
"""
