# SPDX-License-Identifier: Apache-2.0
"""Lowerings for programs on one CPU device, where XLA's own operation is slow.

Each file belongs to a family of primitives. It says which operation it replaces, why, and from
which size. The rules of the family ask it first. `choice` decides whether a program may use these
lowerings at all. This package imports the machinery of lowering, and rules import this package.
"""
