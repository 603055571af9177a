"""Programs on all integers come in; how noise is moved between neighbors, and its cost, go out."""
