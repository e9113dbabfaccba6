"""What every part of openslob needs: workloads, permutations, units, errors, places, interrupts."""
