# SPDX-License-Identifier: Apache-2.0
"""The derivative rules of the instruction set, one module for each family of primitives.

The tables in `tables` import a module at the first lookup of a primitive of its family. If the
rules of a family are split over several modules, the family's module imports the other modules.
"""
