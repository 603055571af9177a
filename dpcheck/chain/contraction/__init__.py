"""A graph with silent states comes in; one transition per output goes out."""
