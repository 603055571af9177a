"""A mechanism's program comes in; what is known of it before it runs, and a shorter one, go out."""
