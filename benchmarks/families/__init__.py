"""The families of the benchmark, each writing its dpm model and the same chain for Storm."""
