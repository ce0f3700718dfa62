# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from . import fft as fft
from . import linalg as linalg
from olympus_ir.types.arrays import Array as Array
from olympus_ir.types.dtypes import isdtype as isdtype
from olympus_ir.types.promotion import promote_types as promote_types
from olympus_numpy import ComplexWarning as ComplexWarning
from olympus_numpy import ScalarType as ScalarType
from olympus_numpy import bfloat16 as bfloat16
from olympus_numpy import bool as bool
from olympus_numpy import bool_ as bool_
from olympus_numpy import character as character
from olympus_numpy import complex128 as _complex128
from olympus_numpy import complex128 as complex128
from olympus_numpy import complex64 as complex64
from olympus_numpy import complex_ as complex_
from olympus_numpy import complexfloating as complexfloating
from olympus_numpy import csingle as csingle
from olympus_numpy import dtype as dtype
from olympus_numpy import finfo as finfo
from olympus_numpy import flexible as flexible
from olympus_numpy import float16 as float16
from olympus_numpy import float32 as float32
from olympus_numpy import float4_e2m1fn as float4_e2m1fn
from olympus_numpy import float64 as _float64
from olympus_numpy import float64 as float64
from olympus_numpy import float6_e2m3fn as float6_e2m3fn
from olympus_numpy import float6_e3m2fn as float6_e3m2fn
from olympus_numpy import float8_e3m4 as float8_e3m4
from olympus_numpy import float8_e4m3 as float8_e4m3
from olympus_numpy import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from olympus_numpy import float8_e4m3fn as float8_e4m3fn
from olympus_numpy import float8_e4m3fnuz as float8_e4m3fnuz
from olympus_numpy import float8_e5m2 as float8_e5m2
from olympus_numpy import float8_e5m2fnuz as float8_e5m2fnuz
from olympus_numpy import float8_e8m0fnu as float8_e8m0fnu
from olympus_numpy import float_ as float_
from olympus_numpy import floating as floating
from olympus_numpy import generic as generic
from olympus_numpy import get_printoptions as get_printoptions
from olympus_numpy import iinfo as iinfo
from olympus_numpy import index_exp as index_exp
from olympus_numpy import inexact as inexact
from olympus_numpy import int1 as int1
from olympus_numpy import int16 as int16
from olympus_numpy import int2 as int2
from olympus_numpy import int32 as int32
from olympus_numpy import int4 as int4
from olympus_numpy import int64 as int64
from olympus_numpy import int8 as int8
from olympus_numpy import int_ as int_
from olympus_numpy import integer as integer
from olympus_numpy import iterable as iterable
from olympus_numpy import ndarray as ndarray
from olympus_numpy import number as number
from olympus_numpy import object_ as object_
from olympus_numpy import printoptions as printoptions
from olympus_numpy import s_ as s_
from olympus_numpy import signedinteger as signedinteger
from olympus_numpy import single as single
from olympus_numpy import ufunc as ufunc
from olympus_numpy import uint1 as uint1
from olympus_numpy import uint16 as uint16
from olympus_numpy import uint2 as uint2
from olympus_numpy import uint32 as uint32
from olympus_numpy import uint4 as uint4
from olympus_numpy import uint64 as _uint64
from olympus_numpy import uint64 as uint64
from olympus_numpy import uint8 as uint8
from olympus_numpy import unsignedinteger as unsignedinteger
from olympus_numpy.arrays.creation import array as array
from olympus_numpy.arrays.creation import asarray as asarray
from olympus_numpy.arrays.creation import astype as astype
from olympus_numpy.arrays.creation import copy as copy
from olympus_numpy.arrays.creation import empty as empty
from olympus_numpy.arrays.creation import empty_like as empty_like
from olympus_numpy.arrays.creation import from_dlpack as from_dlpack
from olympus_numpy.arrays.creation import full as full
from olympus_numpy.arrays.creation import full_like as full_like
from olympus_numpy.arrays.creation import ones as ones
from olympus_numpy.arrays.creation import ones_like as ones_like
from olympus_numpy.arrays.creation import zeros as zeros
from olympus_numpy.arrays.creation import zeros_like as zeros_like
from olympus_numpy.arrays.flipping import flip as flip
from olympus_numpy.arrays.flipping import fliplr as fliplr
from olympus_numpy.arrays.flipping import flipud as flipud
from olympus_numpy.arrays.flipping import roll as roll
from olympus_numpy.arrays.flipping import rot90 as rot90
from olympus_numpy.arrays.host import array_repr as array_repr
from olympus_numpy.arrays.host import array_str as array_str
from olympus_numpy.arrays.host import frombuffer as frombuffer
from olympus_numpy.arrays.host import fromfile as fromfile
from olympus_numpy.arrays.host import fromiter as fromiter
from olympus_numpy.arrays.host import fromstring as fromstring
from olympus_numpy.arrays.host import isscalar as isscalar
from olympus_numpy.arrays.host import load as load
from olympus_numpy.arrays.host import ndim as ndim
from olympus_numpy.arrays.host import save as save
from olympus_numpy.arrays.host import savez as savez
from olympus_numpy.arrays.host import set_printoptions as set_printoptions
from olympus_numpy.arrays.host import shape as shape
from olympus_numpy.arrays.host import size as size
from olympus_numpy.arrays.host import trim_zeros as trim_zeros
from olympus_numpy.arrays.joining import append as append
from olympus_numpy.arrays.joining import array_split as array_split
from olympus_numpy.arrays.joining import block as block
from olympus_numpy.arrays.joining import column_stack as column_stack
from olympus_numpy.arrays.joining import concat as concat
from olympus_numpy.arrays.joining import concatenate as concatenate
from olympus_numpy.arrays.joining import dsplit as dsplit
from olympus_numpy.arrays.joining import dstack as dstack
from olympus_numpy.arrays.joining import hsplit as hsplit
from olympus_numpy.arrays.joining import hstack as hstack
from olympus_numpy.arrays.joining import split as split
from olympus_numpy.arrays.joining import stack as stack
from olympus_numpy.arrays.joining import unstack as unstack
from olympus_numpy.arrays.joining import vsplit as vsplit
from olympus_numpy.arrays.joining import vstack as vstack
from olympus_numpy.arrays.nonzero import argwhere as argwhere
from olympus_numpy.arrays.nonzero import flatnonzero as flatnonzero
from olympus_numpy.arrays.nonzero import nonzero as nonzero
from olympus_numpy.arrays.repeating import repeat as repeat
from olympus_numpy.arrays.repeating import tile as tile
from olympus_numpy.arrays.scalar_types import can_cast as can_cast
from olympus_numpy.arrays.scalar_types import issubdtype as issubdtype
from olympus_numpy.arrays.scalar_types import result_type as result_type
from olympus_numpy.arrays.selection import clip as clip
from olympus_numpy.arrays.selection import piecewise as piecewise
from olympus_numpy.arrays.selection import select as select
from olympus_numpy.arrays.selection import where as where
from olympus_numpy.arrays.shaping import atleast_1d as atleast_1d
from olympus_numpy.arrays.shaping import atleast_2d as atleast_2d
from olympus_numpy.arrays.shaping import atleast_3d as atleast_3d
from olympus_numpy.arrays.shaping import broadcast_arrays as broadcast_arrays
from olympus_numpy.arrays.shaping import broadcast_to as broadcast_to
from olympus_numpy.arrays.shaping import expand_dims as expand_dims
from olympus_numpy.arrays.shaping import matrix_transpose as matrix_transpose
from olympus_numpy.arrays.shaping import moveaxis as moveaxis
from olympus_numpy.arrays.shaping import permute_dims as permute_dims
from olympus_numpy.arrays.shaping import ravel as ravel
from olympus_numpy.arrays.shaping import reshape as reshape
from olympus_numpy.arrays.shaping import resize as resize
from olympus_numpy.arrays.shaping import rollaxis as rollaxis
from olympus_numpy.arrays.shaping import squeeze as squeeze
from olympus_numpy.arrays.shaping import swapaxes as swapaxes
from olympus_numpy.arrays.shaping import transpose as transpose
from olympus_numpy.core.promotion import broadcast_shapes as broadcast_shapes
from olympus_numpy.elementwise.arithmetic import _add as __add
from olympus_numpy.elementwise.arithmetic import _maximum as __maximum
from olympus_numpy.elementwise.arithmetic import _minimum as __minimum
from olympus_numpy.elementwise.arithmetic import _multiply as __multiply
from olympus_numpy.elementwise.arithmetic import _negative as __negative
from olympus_numpy.elementwise.arithmetic import _subtract as __subtract
from olympus_numpy.elementwise.arithmetic import absolute as _absolute
from olympus_numpy.elementwise.arithmetic import absolute as absolute
from olympus_numpy.elementwise.arithmetic import copysign as copysign
from olympus_numpy.elementwise.arithmetic import divmod as divmod
from olympus_numpy.elementwise.arithmetic import fabs as fabs
from olympus_numpy.elementwise.arithmetic import floor_divide as floor_divide
from olympus_numpy.elementwise.arithmetic import fmax as fmax
from olympus_numpy.elementwise.arithmetic import fmin as fmin
from olympus_numpy.elementwise.arithmetic import fmod as fmod
from olympus_numpy.elementwise.arithmetic import heaviside as heaviside
from olympus_numpy.elementwise.arithmetic import positive as positive
from olympus_numpy.elementwise.arithmetic import remainder as _remainder
from olympus_numpy.elementwise.arithmetic import remainder as remainder
from olympus_numpy.elementwise.arithmetic import sign as sign
from olympus_numpy.elementwise.arithmetic import signbit as signbit
from olympus_numpy.elementwise.arithmetic import true_divide as _true_divide
from olympus_numpy.elementwise.arithmetic import true_divide as true_divide
from olympus_numpy.elementwise.bit_packing import packbits as packbits
from olympus_numpy.elementwise.bit_packing import unpackbits as unpackbits
from olympus_numpy.elementwise.complex_parts import angle as angle
from olympus_numpy.elementwise.complex_parts import conjugate as _conjugate
from olympus_numpy.elementwise.complex_parts import conjugate as conjugate
from olympus_numpy.elementwise.complex_parts import imag as imag
from olympus_numpy.elementwise.complex_parts import iscomplex as iscomplex
from olympus_numpy.elementwise.complex_parts import iscomplexobj as iscomplexobj
from olympus_numpy.elementwise.complex_parts import isreal as isreal
from olympus_numpy.elementwise.complex_parts import isrealobj as isrealobj
from olympus_numpy.elementwise.complex_parts import real as real
from olympus_numpy.elementwise.floats import ceil as ceil
from olympus_numpy.elementwise.floats import floor as floor
from olympus_numpy.elementwise.floats import frexp as frexp
from olympus_numpy.elementwise.floats import isfinite as isfinite
from olympus_numpy.elementwise.floats import isinf as isinf
from olympus_numpy.elementwise.floats import isnan as isnan
from olympus_numpy.elementwise.floats import isneginf as isneginf
from olympus_numpy.elementwise.floats import isposinf as isposinf
from olympus_numpy.elementwise.floats import ldexp as ldexp
from olympus_numpy.elementwise.floats import modf as modf
from olympus_numpy.elementwise.floats import nan_to_num as nan_to_num
from olympus_numpy.elementwise.floats import nextafter as nextafter
from olympus_numpy.elementwise.floats import rint as rint
from olympus_numpy.elementwise.floats import round as _round
from olympus_numpy.elementwise.floats import round as round
from olympus_numpy.elementwise.floats import spacing as spacing
from olympus_numpy.elementwise.floats import trunc as trunc
from olympus_numpy.elementwise.logic import _bitwise_and as __bitwise_and
from olympus_numpy.elementwise.logic import _bitwise_or as __bitwise_or
from olympus_numpy.elementwise.logic import _bitwise_xor as __bitwise_xor
from olympus_numpy.elementwise.logic import _logical_and as __logical_and
from olympus_numpy.elementwise.logic import _logical_or as __logical_or
from olympus_numpy.elementwise.logic import _logical_xor as __logical_xor
from olympus_numpy.elementwise.logic import allclose as allclose
from olympus_numpy.elementwise.logic import array_equal as array_equal
from olympus_numpy.elementwise.logic import array_equiv as array_equiv
from olympus_numpy.elementwise.logic import bitwise_count as bitwise_count
from olympus_numpy.elementwise.logic import bitwise_not as _bitwise_not
from olympus_numpy.elementwise.logic import bitwise_not as bitwise_not
from olympus_numpy.elementwise.logic import equal as equal
from olympus_numpy.elementwise.logic import greater as greater
from olympus_numpy.elementwise.logic import greater_equal as greater_equal
from olympus_numpy.elementwise.logic import isclose as isclose
from olympus_numpy.elementwise.logic import left_shift as _left_shift
from olympus_numpy.elementwise.logic import left_shift as left_shift
from olympus_numpy.elementwise.logic import less as less
from olympus_numpy.elementwise.logic import less_equal as less_equal
from olympus_numpy.elementwise.logic import logical_not as logical_not
from olympus_numpy.elementwise.logic import not_equal as not_equal
from olympus_numpy.elementwise.logic import right_shift as _right_shift
from olympus_numpy.elementwise.logic import right_shift as right_shift
from olympus_numpy.elementwise.powers import cbrt as cbrt
from olympus_numpy.elementwise.powers import float_power as float_power
from olympus_numpy.elementwise.powers import gcd as gcd
from olympus_numpy.elementwise.powers import lcm as lcm
from olympus_numpy.elementwise.powers import power as _power
from olympus_numpy.elementwise.powers import power as power
from olympus_numpy.elementwise.powers import reciprocal as reciprocal
from olympus_numpy.elementwise.powers import sqrt as sqrt
from olympus_numpy.elementwise.powers import square as square
from olympus_numpy.elementwise.transcendental import _logaddexp as __logaddexp
from olympus_numpy.elementwise.transcendental import _logaddexp2 as __logaddexp2
from olympus_numpy.elementwise.transcendental import exp as exp
from olympus_numpy.elementwise.transcendental import exp2 as exp2
from olympus_numpy.elementwise.transcendental import expm1 as expm1
from olympus_numpy.elementwise.transcendental import hypot as hypot
from olympus_numpy.elementwise.transcendental import log as log
from olympus_numpy.elementwise.transcendental import log10 as log10
from olympus_numpy.elementwise.transcendental import log1p as log1p
from olympus_numpy.elementwise.transcendental import log2 as log2
from olympus_numpy.elementwise.transcendental import sinc as sinc
from olympus_numpy.elementwise.trigonometry import arccos as _arccos
from olympus_numpy.elementwise.trigonometry import arccos as arccos
from olympus_numpy.elementwise.trigonometry import arccosh as _arccosh
from olympus_numpy.elementwise.trigonometry import arccosh as arccosh
from olympus_numpy.elementwise.trigonometry import arcsin as _arcsin
from olympus_numpy.elementwise.trigonometry import arcsin as arcsin
from olympus_numpy.elementwise.trigonometry import arcsinh as _arcsinh
from olympus_numpy.elementwise.trigonometry import arcsinh as arcsinh
from olympus_numpy.elementwise.trigonometry import arctan as _arctan
from olympus_numpy.elementwise.trigonometry import arctan as arctan
from olympus_numpy.elementwise.trigonometry import arctan2 as _arctan2
from olympus_numpy.elementwise.trigonometry import arctan2 as arctan2
from olympus_numpy.elementwise.trigonometry import arctanh as _arctanh
from olympus_numpy.elementwise.trigonometry import arctanh as arctanh
from olympus_numpy.elementwise.trigonometry import cos as cos
from olympus_numpy.elementwise.trigonometry import cosh as cosh
from olympus_numpy.elementwise.trigonometry import deg2rad as _deg2rad
from olympus_numpy.elementwise.trigonometry import deg2rad as deg2rad
from olympus_numpy.elementwise.trigonometry import rad2deg as _rad2deg
from olympus_numpy.elementwise.trigonometry import rad2deg as rad2deg
from olympus_numpy.elementwise.trigonometry import sin as sin
from olympus_numpy.elementwise.trigonometry import sinh as sinh
from olympus_numpy.elementwise.trigonometry import tan as tan
from olympus_numpy.elementwise.trigonometry import tanh as tanh
from olympus_numpy.elementwise.vectorization import apply_along_axis as apply_along_axis
from olympus_numpy.elementwise.vectorization import apply_over_axes as apply_over_axes
from olympus_numpy.elementwise.vectorization import frompyfunc as frompyfunc
from olympus_numpy.elementwise.vectorization import vectorize as vectorize
from olympus_numpy.indexing.insertion import delete as delete
from olympus_numpy.indexing.insertion import insert as insert
from olympus_numpy.indexing.masking import compress as compress
from olympus_numpy.indexing.masking import extract as extract
from olympus_numpy.indexing.masking import place as place
from olympus_numpy.indexing.putting import put as put
from olympus_numpy.indexing.putting import put_along_axis as put_along_axis
from olympus_numpy.indexing.taking import choose as choose
from olympus_numpy.indexing.taking import take as take
from olympus_numpy.indexing.taking import take_along_axis as take_along_axis
from olympus_numpy.numerics.calculus import diff as diff
from olympus_numpy.numerics.calculus import ediff1d as ediff1d
from olympus_numpy.numerics.calculus import gradient as gradient
from olympus_numpy.numerics.calculus import interp as interp
from olympus_numpy.numerics.calculus import trapezoid as trapezoid
from olympus_numpy.numerics.calculus import unwrap as unwrap
from olympus_numpy.numerics.index_tricks import c_ as c_
from olympus_numpy.numerics.index_tricks import diag_indices as diag_indices
from olympus_numpy.numerics.index_tricks import diag_indices_from as diag_indices_from
from olympus_numpy.numerics.index_tricks import ix_ as ix_
from olympus_numpy.numerics.index_tricks import mask_indices as mask_indices
from olympus_numpy.numerics.index_tricks import mgrid as mgrid
from olympus_numpy.numerics.index_tricks import ogrid as ogrid
from olympus_numpy.numerics.index_tricks import r_ as r_
from olympus_numpy.numerics.index_tricks import ravel_multi_index as ravel_multi_index
from olympus_numpy.numerics.index_tricks import tril_indices as tril_indices
from olympus_numpy.numerics.index_tricks import tril_indices_from as tril_indices_from
from olympus_numpy.numerics.index_tricks import triu_indices as triu_indices
from olympus_numpy.numerics.index_tricks import triu_indices_from as triu_indices_from
from olympus_numpy.numerics.index_tricks import unravel_index as unravel_index
from olympus_numpy.numerics.padding import pad as pad
from olympus_numpy.numerics.polynomial_roots import poly as poly
from olympus_numpy.numerics.polynomial_roots import polyfit as polyfit
from olympus_numpy.numerics.polynomial_roots import roots as roots
from olympus_numpy.numerics.polynomials import polyadd as polyadd
from olympus_numpy.numerics.polynomials import polyder as polyder
from olympus_numpy.numerics.polynomials import polydiv as polydiv
from olympus_numpy.numerics.polynomials import polyint as polyint
from olympus_numpy.numerics.polynomials import polymul as polymul
from olympus_numpy.numerics.polynomials import polysub as polysub
from olympus_numpy.numerics.polynomials import polyval as polyval
from olympus_numpy.numerics.ranges import arange as arange
from olympus_numpy.numerics.ranges import fromfunction as fromfunction
from olympus_numpy.numerics.ranges import geomspace as geomspace
from olympus_numpy.numerics.ranges import indices as indices
from olympus_numpy.numerics.ranges import linspace as linspace
from olympus_numpy.numerics.ranges import logspace as logspace
from olympus_numpy.numerics.ranges import meshgrid as meshgrid
from olympus_numpy.numerics.statistics import bincount as bincount
from olympus_numpy.numerics.statistics import corrcoef as corrcoef
from olympus_numpy.numerics.statistics import cov as cov
from olympus_numpy.numerics.statistics import histogram as histogram
from olympus_numpy.numerics.statistics import histogram2d as histogram2d
from olympus_numpy.numerics.statistics import histogram_bin_edges as histogram_bin_edges
from olympus_numpy.numerics.statistics import histogramdd as histogramdd
from olympus_numpy.numerics.windows import bartlett as bartlett
from olympus_numpy.numerics.windows import blackman as blackman
from olympus_numpy.numerics.windows import hamming as hamming
from olympus_numpy.numerics.windows import hanning as hanning
from olympus_numpy.numerics.windows import i0 as i0
from olympus_numpy.numerics.windows import kaiser as kaiser
from olympus_numpy.ordering.quantiles import median as median
from olympus_numpy.ordering.quantiles import nanmedian as nanmedian
from olympus_numpy.ordering.quantiles import nanpercentile as nanpercentile
from olympus_numpy.ordering.quantiles import nanquantile as nanquantile
from olympus_numpy.ordering.quantiles import percentile as percentile
from olympus_numpy.ordering.quantiles import quantile as quantile
from olympus_numpy.ordering.searching import digitize as digitize
from olympus_numpy.ordering.searching import searchsorted as searchsorted
from olympus_numpy.ordering.sets import intersect1d as intersect1d
from olympus_numpy.ordering.sets import isin as isin
from olympus_numpy.ordering.sets import setdiff1d as setdiff1d
from olympus_numpy.ordering.sets import setxor1d as setxor1d
from olympus_numpy.ordering.sets import union1d as union1d
from olympus_numpy.ordering.sets import unique as unique
from olympus_numpy.ordering.sets import unique_all as unique_all
from olympus_numpy.ordering.sets import unique_counts as unique_counts
from olympus_numpy.ordering.sets import unique_inverse as unique_inverse
from olympus_numpy.ordering.sets import unique_values as unique_values
from olympus_numpy.ordering.sorting import argpartition as argpartition
from olympus_numpy.ordering.sorting import argsort as argsort
from olympus_numpy.ordering.sorting import lexsort as lexsort
from olympus_numpy.ordering.sorting import partition as partition
from olympus_numpy.ordering.sorting import sort as sort
from olympus_numpy.ordering.sorting import sort_complex as sort_complex
from olympus_numpy.products.contractions import cross as cross
from olympus_numpy.products.contractions import dot as dot
from olympus_numpy.products.contractions import inner as inner
from olympus_numpy.products.contractions import kron as kron
from olympus_numpy.products.contractions import matmul as matmul
from olympus_numpy.products.contractions import matvec as matvec
from olympus_numpy.products.contractions import outer as outer
from olympus_numpy.products.contractions import tensordot as tensordot
from olympus_numpy.products.contractions import vdot as vdot
from olympus_numpy.products.contractions import vecdot as vecdot
from olympus_numpy.products.contractions import vecmat as vecmat
from olympus_numpy.products.convolutions import convolve as convolve
from olympus_numpy.products.convolutions import correlate as correlate
from olympus_numpy.products.einsum import einsum as einsum
from olympus_numpy.products.einsum import einsum_path as einsum_path
from olympus_numpy.products.matrices import diag as diag
from olympus_numpy.products.matrices import diagflat as diagflat
from olympus_numpy.products.matrices import diagonal as diagonal
from olympus_numpy.products.matrices import eye as eye
from olympus_numpy.products.matrices import fill_diagonal as fill_diagonal
from olympus_numpy.products.matrices import identity as identity
from olympus_numpy.products.matrices import trace as trace
from olympus_numpy.products.matrices import tri as tri
from olympus_numpy.products.matrices import tril as tril
from olympus_numpy.products.matrices import triu as triu
from olympus_numpy.products.matrices import vander as vander
from olympus_numpy.reductions.cumulative import cumprod as cumprod
from olympus_numpy.reductions.cumulative import cumsum as cumsum
from olympus_numpy.reductions.cumulative import cumulative_prod as cumulative_prod
from olympus_numpy.reductions.cumulative import cumulative_sum as cumulative_sum
from olympus_numpy.reductions.cumulative import nancumprod as nancumprod
from olympus_numpy.reductions.cumulative import nancumsum as nancumsum
from olympus_numpy.reductions.extremes import argmax as argmax
from olympus_numpy.reductions.extremes import argmin as argmin
from olympus_numpy.reductions.extremes import max as _max
from olympus_numpy.reductions.extremes import max as max
from olympus_numpy.reductions.extremes import min as _min
from olympus_numpy.reductions.extremes import min as min
from olympus_numpy.reductions.extremes import ptp as ptp
from olympus_numpy.reductions.moments import average as average
from olympus_numpy.reductions.moments import mean as mean
from olympus_numpy.reductions.moments import std as std
from olympus_numpy.reductions.moments import var as var
from olympus_numpy.reductions.nan_reductions import nanargmax as nanargmax
from olympus_numpy.reductions.nan_reductions import nanargmin as nanargmin
from olympus_numpy.reductions.nan_reductions import nanmax as nanmax
from olympus_numpy.reductions.nan_reductions import nanmean as nanmean
from olympus_numpy.reductions.nan_reductions import nanmin as nanmin
from olympus_numpy.reductions.nan_reductions import nanprod as nanprod
from olympus_numpy.reductions.nan_reductions import nanstd as nanstd
from olympus_numpy.reductions.nan_reductions import nansum as nansum
from olympus_numpy.reductions.nan_reductions import nanvar as nanvar
from olympus_numpy.reductions.sums import prod as prod
from olympus_numpy.reductions.sums import sum as sum
from olympus_numpy.reductions.truth import all as all
from olympus_numpy.reductions.truth import any as any
from olympus_numpy.reductions.truth import count_nonzero as count_nonzero
abs = _absolute
acos = _arccos
acosh = _arccosh
add = __add
amax = _max
amin = _min
around = _round
asin = _arcsin
asinh = _arcsinh
atan = _arctan
atan2 = _arctan2
atanh = _arctanh
bitwise_and = __bitwise_and
bitwise_invert = _bitwise_not
bitwise_left_shift = _left_shift
bitwise_or = __bitwise_or
bitwise_right_shift = _right_shift
bitwise_xor = __bitwise_xor
cdouble = _complex128
conj = _conjugate
degrees = _rad2deg
divide = _true_divide
double = _float64
e: float
euler_gamma: float
inf: float
invert = _bitwise_not
logaddexp = __logaddexp
logaddexp2 = __logaddexp2
logical_and = __logical_and
logical_or = __logical_or
logical_xor = __logical_xor
maximum = __maximum
minimum = __minimum
mod = _remainder
multiply = __multiply
nan: float
negative = __negative
newaxis: None
pi: float
pow = _power
radians = _deg2rad
subtract = __subtract
uint = _uint64
