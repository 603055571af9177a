"""A mechanism's program and its inputs come in; the raw graph of its runs goes out."""
