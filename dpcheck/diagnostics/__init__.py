"""What was found wrong comes in, with its place and values; mistakes that explain it go out."""
