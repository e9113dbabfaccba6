"""Parts of the blind bench, `bench/blind.py`: what injects faults, and what judges what `slob` says of them."""
