# SPDX-License-Identifier: Apache-2.0
"""Mutable references: arrays that are read and written in place while a program runs.

A reference is a value of type `AbstractRef`. The primitives `get`, `swap` and `addupdate`
(`olympus_ir.lax.references`) read it, write it and add to it, through a chain of transforms (an
`NDIndexer` as a rule) that say which part is meant. Their operands are the reference, then the
value to be written, then the leaves of the transforms, whose structure is the parameter ``tree``.

A program with references is turned into a pure one by `discharge`, which is how it is compiled.
"""
