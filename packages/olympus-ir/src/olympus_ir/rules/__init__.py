# SPDX-License-Identifier: Apache-2.0
"""Rules of the passes in `olympus_ir.programs`, one file a family of primitives.

A file has what the checker, dead code elimination and the printer do with the family's primitives;
the tables load it with the first primitive of the family.

May import `lax`, `references` and below.
"""
