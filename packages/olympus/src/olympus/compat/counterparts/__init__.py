# SPDX-License-Identifier: Apache-2.0
"""Functions of JAX's private modules that OLYMPUS itself does not use.

Each module has the functions of one subject. They are imported when a program uses them.
"""
