"""Evidence for verdicts comes in; whether it holds, checked without `solve`, goes out."""
