# SPDX-License-Identifier: Apache-2.0
"""Lowering rules, one file for each family of primitives.

`tables.lowering_rules` imports a file at the first look-up of a primitive of its family. This
folder may import the modules of `lowering`, `foreign`, `arrays` and the layers below them.
"""
