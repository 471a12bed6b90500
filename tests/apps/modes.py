#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""modes.py N - SLEPc: the largest modes of Brownian motion, whose covariance at N times is min(i, j).

That is a dense matrix, each product with which gathers the vector on all ranks. Its eigenvalues are
1 / (4 sin^2((2k - 1) pi / (4N + 2))), k = 1, 2, ...: rank 0 prints those found, and the largest error relative
to the first.
"""
import math
import sys

import numpy as np
from slepc4py import SLEPc
from petsc4py import PETSc

N, MODES = int(sys.argv[1]), 8

matrix = PETSc.Mat().createDense((N, N))
matrix.setUp()
first, last = matrix.getOwnershipRange()
matrix.setValues(range(first, last), range(N), np.minimum.outer(np.arange(first, last), np.arange(N)) + 1.0)
matrix.assemble()
solver = SLEPc.EPS().create()
solver.setOperators(matrix)
solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
solver.setDimensions(MODES)
solver.setTolerances(1e-10)
solver.setFromOptions()
solver.solve()
found = [solver.getEigenvalue(k).real for k in range(min(MODES, solver.getConverged()))]
exact = [0.25 / math.sin((2 * k + 1) * math.pi / (4 * N + 2)) ** 2 for k in range(MODES)]
if PETSc.COMM_WORLD.rank == 0:
    for value in found:
        print(f"mode {value:.15e}")
    print(len(found), "modes, error", max(abs(a - b) for a, b in zip(found, exact)) / exact[0])
