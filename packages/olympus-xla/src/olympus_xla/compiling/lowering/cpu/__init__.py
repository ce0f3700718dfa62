# SPDX-License-Identifier: Apache-2.0
"""Lowerings for programs on one CPU device, where XLA's own operation is slow.

Each file belongs to a family of primitives. It says what it replaces, why, and from which size;
the rules of the family ask it first. `choice` decides whether a program may use them at all.
Imports the machinery of lowering; rules import it.
"""
