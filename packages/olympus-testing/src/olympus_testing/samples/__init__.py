# SPDX-License-Identifier: Apache-2.0
"""Samples of the instruction set, one file for each family, and their declaration."""

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
from . import shaping as shaping
from . import sorting as sorting
from . import special as special
from . import tokens as tokens
from . import transfer as transfer
from . import windows as windows
from .declarations import Binary as Binary
from .declarations import Case as Case
from .declarations import Operand as Operand
from .declarations import Operation as Operation
from .declarations import Unary as Unary
from .declarations import cases as cases
from .declarations import sample as sample
from .declarations import samples as samples
