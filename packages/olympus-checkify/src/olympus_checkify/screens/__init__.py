# SPDX-License-Identifier: Apache-2.0
"""Screens: programs that detect at little cost that an operation failed, but not which operation.

An element is erroneous if it is not finite although the operands of the program are finite. Most
operations propagate erroneous elements to their results. A screen therefore checks only the few
values whose erroneous elements do not propagate to another checked value. If an operation would
lose erroneous elements, the screen can put them into the result. The folder may import `rules` and
the layers below it.
"""
