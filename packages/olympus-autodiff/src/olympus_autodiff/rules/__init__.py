# SPDX-License-Identifier: Apache-2.0
"""The derivative rules of the instruction set, one module a family of primitives.

The tables in `tables` import a module when they look up a primitive of its family first. A family's
module imports those that hold a part of its rules.
"""
