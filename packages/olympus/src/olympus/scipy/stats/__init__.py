# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: distributions and statistics."""

from typing import Any

from olympus_scipy import stats as _stats
from olympus_scipy.stats import gaussian_kde as gaussian_kde
from olympus_scipy.stats import mode as mode
from olympus_scipy.stats import rankdata as rankdata
from olympus_scipy.stats import sem as sem

from ... import _lazy

__getattr__: Any
__dir__: Any
__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {}, _stats.DISTRIBUTIONS)
