# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.lax.linalg.factoring import cholesky as cholesky
from olympus_ir.lax.linalg.factoring import cholesky_p as cholesky_p
from olympus_ir.lax.linalg.factoring import cholesky_update as cholesky_update
from olympus_ir.lax.linalg.factoring import cholesky_update_p as cholesky_update_p
from olympus_ir.lax.linalg.factoring import geqp3 as geqp3
from olympus_ir.lax.linalg.factoring import geqp3_p as geqp3_p
from olympus_ir.lax.linalg.factoring import geqrf as geqrf
from olympus_ir.lax.linalg.factoring import geqrf_p as geqrf_p
from olympus_ir.lax.linalg.factoring import householder_product as householder_product
from olympus_ir.lax.linalg.factoring import householder_product_p as householder_product_p
from olympus_ir.lax.linalg.factoring import lu as lu
from olympus_ir.lax.linalg.factoring import lu_p as lu_p
from olympus_ir.lax.linalg.factoring import lu_pivots_to_permutation as lu_pivots_to_permutation
from olympus_ir.lax.linalg.factoring import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from olympus_ir.lax.linalg.factoring import ormqr as ormqr
from olympus_ir.lax.linalg.factoring import ormqr_p as ormqr_p
from olympus_ir.lax.linalg.factoring import qr as qr
from olympus_ir.lax.linalg.factoring import qr_p as qr_p
from olympus_ir.lax.linalg.factoring import symmetric_product as symmetric_product
from olympus_ir.lax.linalg.factoring import symmetric_product_p as symmetric_product_p
from olympus_ir.lax.linalg.polar import qdwh as qdwh
from olympus_ir.lax.linalg.solving import triangular_solve as triangular_solve
from olympus_ir.lax.linalg.solving import triangular_solve_p as triangular_solve_p
from olympus_ir.lax.linalg.solving import tridiagonal_solve as tridiagonal_solve
from olympus_ir.lax.linalg.solving import tridiagonal_solve_p as tridiagonal_solve_p
from olympus_ir.lax.linalg.spectral import EigImplementation as EigImplementation
from olympus_ir.lax.linalg.spectral import EighImplementation as EighImplementation
from olympus_ir.lax.linalg.spectral import SvdAlgorithm as SvdAlgorithm
from olympus_ir.lax.linalg.spectral import eig as eig
from olympus_ir.lax.linalg.spectral import eig_p as eig_p
from olympus_ir.lax.linalg.spectral import eigh as eigh
from olympus_ir.lax.linalg.spectral import eigh_p as eigh_p
from olympus_ir.lax.linalg.spectral import hessenberg as hessenberg
from olympus_ir.lax.linalg.spectral import hessenberg_p as hessenberg_p
from olympus_ir.lax.linalg.spectral import schur as schur
from olympus_ir.lax.linalg.spectral import schur_p as schur_p
from olympus_ir.lax.linalg.spectral import svd as svd
from olympus_ir.lax.linalg.spectral import svd_p as svd_p
from olympus_ir.lax.linalg.spectral import tridiagonal as tridiagonal
from olympus_ir.lax.linalg.spectral import tridiagonal_p as tridiagonal_p
import olympus_ir.lax.linalg.declarations as declarations
import olympus_ir.lax.linalg.expansions as expansions
import olympus_ir.lax.linalg.factoring as factoring
import olympus_ir.lax.linalg.matrices as matrices
import olympus_ir.lax.linalg.polar as polar
import olympus_ir.lax.linalg.solving as solving
import olympus_ir.lax.linalg.spectral as spectral
