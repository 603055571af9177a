"""Mechanisms as written come in; control-flow graphs with names resolved go out."""
