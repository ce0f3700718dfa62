# SPDX-License-Identifier: Apache-2.0
"""The NumPy reference: what each primitive means, as an evaluator and as the oracle of tests."""

from . import annotations as annotations
from . import callbacks as callbacks
from . import calls as calls
from . import collectives as collectives
from . import contractions as contractions
from . import control_flow as control_flow
from . import convolution as convolution
from . import elementwise as elementwise
from . import fft as fft
from . import indexing as indexing
from . import linalg as linalg
from . import point_to_point as point_to_point
from . import ragged as ragged
from . import ragged_exchange as ragged_exchange
from . import random_bits as random_bits
from . import reductions as reductions
from . import references as references
from . import reflections as reflections
from . import shaping as shaping
from . import sorting as sorting
from . import special as special
from . import tokens as tokens
from . import transfer as transfer
from . import windows as windows
from .arrays import ReferenceArray as ReferenceArray
from .evaluator import ReferenceEvaluator as ReferenceEvaluator
from .evaluator import reference_evaluator as reference_evaluator
from .tables import reference_rules as reference_rules
from .tables import takes_arrays as takes_arrays
