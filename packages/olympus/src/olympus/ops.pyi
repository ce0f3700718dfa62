# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_numpy.numerics.segments import segment_max as segment_max
from olympus_numpy.numerics.segments import segment_min as segment_min
from olympus_numpy.numerics.segments import segment_prod as segment_prod
from olympus_numpy.numerics.segments import segment_sum as segment_sum
