"""Claims with names resolved come in; formulas, claims and quantities as frozen data go out."""
