# SPDX-License-Identifier: Apache-2.0
"""Lowerings for programs on a single CPU device that replace slow operations of XLA.

Each file belongs to one family of primitives. It describes the operation that it replaces, the
reason, and the minimal size. The family's rules consult it first. `choice` decides whether a
program may use these lowerings. This package imports the modules of `lowering`, and `rules` imports
this package.
"""
