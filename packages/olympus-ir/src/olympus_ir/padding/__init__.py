# SPDX-License-Identifier: Apache-2.0
"""Programs of symbolic sizes on padded arrays: `evaluate_padded`, and a rule for each primitive.

A program was traced with dimensions such as ``n`` that have an upper bound. `Lengths` knows the
bound of each dimension, which is its size in a padded array, and its true size, which is a value of
the running program. The valid elements of an array are the first ones along each dimension. The
others are padding: any values at all.

The rules in `rules` compute the valid elements of results from those of operands. They replace the
padding where an operation would mix it with valid elements, and refuse operations whose result
depends on the number of elements in a way that no filling mends.

The folder may import everything below; nothing below imports it.
"""

from .evaluation import evaluate_padded, padding_rules
from .lengths import Lengths

__all__ = ["Lengths", "evaluate_padded", "padding_rules"]
