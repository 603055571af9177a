"""Values come in; int64 codes, columns and numbered states go out."""
