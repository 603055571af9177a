"""A linear system x = Q x + b comes in; its exact solution goes out."""
