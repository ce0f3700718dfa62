# SPDX-License-Identifier: Apache-2.0
"""Programs with symbolic shapes on padded arrays: `evaluate_padded` and a rule for each primitive.

Such a program was traced with symbolic dimensions, such as ``n``, that have upper bounds. `Lengths`
holds two sizes of each dimension. The padded size is the upper bound. The true size is a value of
the running program. The valid elements of a padded array are the first elements along each
dimension. The other elements are padding, and have arbitrary values.

The rules in `rules` compute the valid elements of results from the valid elements of operands. If
an operation mixes padding with valid elements, its rule first replaces the padding by a neutral
value. If no value is neutral, the rule raises an error.

This folder may import all lower layers. No lower layer imports this folder.
"""

from .evaluation import evaluate_padded, padding_rules
from .lengths import Lengths

__all__ = ["Lengths", "evaluate_padded", "padding_rules"]
