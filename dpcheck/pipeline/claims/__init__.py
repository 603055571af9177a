"""One claim comes in, with chains that several share; its outcome goes out."""
