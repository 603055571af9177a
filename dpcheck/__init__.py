"""dpcheck: an exact probabilistic model checker for differential privacy."""
