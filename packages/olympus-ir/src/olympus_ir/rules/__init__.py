# SPDX-License-Identifier: Apache-2.0
"""Rules of the passes in `olympus_ir.programs`, one file for each family of primitives.

A file has the rules of the checker, dead code elimination and the printer for a family. The tables
load the file for the first primitive of the family.

May import `lax`, `references` and below.
"""
