#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""silicon.py - GPAW: the crystal of silicon by plane waves, its k-points shared among the ranks.

The density is the sum of those of all ranks. Rank 0 prints the total energy, in eV, with all its digits.
"""
from ase.build import bulk
from gpaw import GPAW, PW
from gpaw.mpi import world

atoms = bulk("Si", "diamond", 5.43)
atoms.calc = GPAW(mode=PW(140), xc="LDA", kpts=(2, 2, 2), symmetry={"point_group": False}, txt=None,
                  convergence={"density": 1e-5}, parallel={"kpt": world.size})
energy = atoms.get_potential_energy()
if world.rank == 0:
    print(f"energy {energy:.15e}")
