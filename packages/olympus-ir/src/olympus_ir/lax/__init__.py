# SPDX-License-Identifier: Apache-2.0
"""The instruction set: one primitive, bind function and shape rule an operation."""

from .approximate import *  # noqa: F403
from .broadcasting import *  # noqa: F403
from .callbacks import *  # noqa: F403
from .calls import *  # noqa: F403
from .collectives import *  # noqa: F403
from .composites import *  # noqa: F403
from .contractions import *  # noqa: F403
from .control_flow import *  # noqa: F403
from .conversion import *  # noqa: F403
from .convolution import *  # noqa: F403
from .convolution_shapes import *  # noqa: F403
from .convolution_variants import *  # noqa: F403
from .creation import *  # noqa: F403
from .dot_algorithms import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .extended import *  # noqa: F403
from .fft import *  # noqa: F403
from .gathering import *  # noqa: F403
from .indexing import *  # noqa: F403
from .logic import *  # noqa: F403
from .mathematics import *  # noqa: F403
from .named_axes import *  # noqa: F403
from .ragged import *  # noqa: F403
from .random_bits import *  # noqa: F403
from .reductions import *  # noqa: F403
from .scaled_products import *  # noqa: F403
from .scattering import *  # noqa: F403
from .shaping import *  # noqa: F403
from .sorting import *  # noqa: F403
from .special import *  # noqa: F403
from .tokens import *  # noqa: F403
from .transfer import *  # noqa: F403
from .window_shapes import *  # noqa: F403
from .windows import *  # noqa: F403
