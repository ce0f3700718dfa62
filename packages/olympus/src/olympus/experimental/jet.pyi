# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_autodiff.jet import JetTrace as JetTrace
from olympus_autodiff.jet import JetTracer as JetTracer
from olympus_autodiff.jet import ZeroSeries as ZeroSeries
from olympus_autodiff.jet import ZeroTerm as ZeroTerm
from olympus_autodiff.jet import call_param_updaters as call_param_updaters
from olympus_autodiff.jet import jet_fun as jet_fun
from olympus_autodiff.jet import jet_subtrace as jet_subtrace
from olympus_autodiff.jet import traceable as traceable
from olympus_autodiff.jet import zero_series as zero_series
from olympus_autodiff.jet import zero_term as zero_term
from olympus_autodiff.jet.definitions import def_comp as def_comp
from olympus_autodiff.jet.definitions import def_deriv as def_deriv
from olympus_autodiff.jet.definitions import deflinear as deflinear
from olympus_autodiff.jet.definitions import defzero as defzero
from olympus_autodiff.jet.definitions import deriv_prop as deriv_prop
from olympus_autodiff.jet.series import fact as fact
from olympus_autodiff.jet.tables import jet_rules as jet_rules
from olympus_autodiff.jet.tables import linear_prop as linear_prop
from olympus_autodiff.jet.tables import zero_prop as zero_prop
from olympus_autodiff.jet.transformation import jet as jet
from olympus_autodiff.jet.transformation import jet2 as jet2
