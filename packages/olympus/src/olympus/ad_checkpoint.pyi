# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_autodiff import checkpoint_policies as checkpoint_policies
from olympus_autodiff.rematerialization.checkpoint import checkpoint as checkpoint
from olympus_autodiff.rematerialization.checkpoint import remat as remat
from olympus_autodiff.rematerialization.policies import Offloadable as Offloadable
from olympus_autodiff.rematerialization.policies import Recompute as Recompute
from olympus_autodiff.rematerialization.policies import Saveable as Saveable
from olympus_autodiff.rematerialization.policies import checkpoint_name as checkpoint_name
from olympus_autodiff.rematerialization.saved_residuals import print_saved_residuals as print_saved_residuals
