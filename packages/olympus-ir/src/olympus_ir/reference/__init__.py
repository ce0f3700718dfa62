# SPDX-License-Identifier: Apache-2.0
"""NumPy implementations of all primitives: an evaluator, and the oracle of tests."""

from .arrays import ReferenceArray as ReferenceArray
from .evaluator import ReferenceEvaluator as ReferenceEvaluator
from .evaluator import reference_evaluator as reference_evaluator
from .tables import reference_rules as reference_rules
from .tables import takes_arrays as takes_arrays
