# SPDX-License-Identifier: Apache-2.0
"""Rules of the passes in `olympus_ir.programs`, one file for each family of primitives.

Each file has the rules of the checker, dead-code elimination and the printer for one family. The
tables load a file for the first primitive of its family.

This package may import `lax`, `references` and the packages below them.
"""
