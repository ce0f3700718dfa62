# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_scipy.spatial.transform import Rotation as Rotation
from olympus_scipy.spatial.transform import Slerp as Slerp
