# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.calls.stages import ArgInfo as ArgInfo
from olympus_xla.calls.stages import Compiled as Compiled
from olympus_xla.calls.stages import CompilerOptions as CompilerOptions
from olympus_xla.calls.stages import Lowered as Lowered
from olympus_xla.calls.stages import Traced as Traced
from olympus_xla.calls.stages import Wrapped as Wrapped
