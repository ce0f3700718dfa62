# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_numpy.numerics.log_sums import logsumexp as logsumexp
from olympus_scipy.special.bessel import bessel_jn as bessel_jn
from olympus_scipy.special.bessel import i0 as i0
from olympus_scipy.special.bessel import i0e as i0e
from olympus_scipy.special.bessel import i1 as i1
from olympus_scipy.special.bessel import i1e as i1e
from olympus_scipy.special.error_functions import dawsn as dawsn
from olympus_scipy.special.error_functions import erf as erf
from olympus_scipy.special.error_functions import erfc as erfc
from olympus_scipy.special.error_functions import erfcx as erfcx
from olympus_scipy.special.error_functions import erfinv as erfinv
from olympus_scipy.special.error_functions import fresnel as fresnel
from olympus_scipy.special.error_functions import log_ndtr as log_ndtr
from olympus_scipy.special.error_functions import ndtr as ndtr
from olympus_scipy.special.error_functions import ndtri as ndtri
from olympus_scipy.special.error_functions import owens_t as owens_t
from olympus_scipy.special.error_functions import wofz as wofz
from olympus_scipy.special.exponential_integrals import exp1 as exp1
from olympus_scipy.special.exponential_integrals import expi as expi
from olympus_scipy.special.exponential_integrals import expn as expn
from olympus_scipy.special.exponential_integrals import sici as sici
from olympus_scipy.special.exponential_integrals import spence as spence
from olympus_scipy.special.gamma_functions import bernoulli as bernoulli
from olympus_scipy.special.gamma_functions import beta as beta
from olympus_scipy.special.gamma_functions import betainc as betainc
from olympus_scipy.special.gamma_functions import betaln as betaln
from olympus_scipy.special.gamma_functions import comb as comb
from olympus_scipy.special.gamma_functions import digamma as digamma
from olympus_scipy.special.gamma_functions import factorial as factorial
from olympus_scipy.special.gamma_functions import gamma as gamma
from olympus_scipy.special.gamma_functions import gammainc as gammainc
from olympus_scipy.special.gamma_functions import gammaincc as gammaincc
from olympus_scipy.special.gamma_functions import gammaln as gammaln
from olympus_scipy.special.gamma_functions import gammasgn as gammasgn
from olympus_scipy.special.gamma_functions import loggamma as loggamma
from olympus_scipy.special.gamma_functions import multigammaln as multigammaln
from olympus_scipy.special.gamma_functions import poch as poch
from olympus_scipy.special.gamma_functions import polygamma as polygamma
from olympus_scipy.special.gamma_functions import zeta as zeta
from olympus_scipy.special.harmonics import sph_harm_y as sph_harm_y
from olympus_scipy.special.hypergeometric import hyp1f1 as hyp1f1
from olympus_scipy.special.hypergeometric import hyp2f1 as hyp2f1
from olympus_scipy.special.information import boxcox as boxcox
from olympus_scipy.special.information import boxcox1p as boxcox1p
from olympus_scipy.special.information import entr as entr
from olympus_scipy.special.information import expit as expit
from olympus_scipy.special.information import kl_div as kl_div
from olympus_scipy.special.information import log_softmax as log_softmax
from olympus_scipy.special.information import logit as logit
from olympus_scipy.special.information import rel_entr as rel_entr
from olympus_scipy.special.information import softmax as softmax
from olympus_scipy.special.information import xlog1py as xlog1py
from olympus_scipy.special.information import xlogy as xlogy
import olympus_scipy.special.bessel as bessel
import olympus_scipy.special.error_functions as error_functions
import olympus_scipy.special.exponential_integrals as exponential_integrals
import olympus_scipy.special.faddeeva as faddeeva
import olympus_scipy.special.gamma_functions as gamma_functions
import olympus_scipy.special.harmonics as harmonics
import olympus_scipy.special.hypergeometric as hypergeometric
import olympus_scipy.special.information as information
