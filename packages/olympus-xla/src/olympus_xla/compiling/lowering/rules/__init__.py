# SPDX-License-Identifier: Apache-2.0
"""Lowering rules, one file for each family of primitives.

`tables.lowering_rules` imports a file when it looks up a primitive of its family first.
May import the machinery of lowering, `foreign`, `arrays` and below.
"""
