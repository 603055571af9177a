"""A pair of neighbors and an event come in; runs that show it, and their exact factors, go out."""
