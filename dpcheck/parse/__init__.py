"""Text comes in; a surface tree and syntax mistakes go out. See `grammar/dpm.lark`."""

from dpcheck.parse.parse import Parsed, ParsedExpression, parse_expression, parse_model

__all__ = ["Parsed", "ParsedExpression", "parse_expression", "parse_model"]
