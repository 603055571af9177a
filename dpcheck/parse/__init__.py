"""The parse room: text to surface tree. The grammar is `grammar/dpm.lark`."""

from dpcheck.parse.parse import Parsed, ParsedExpression, parse_expression, parse_model

__all__ = ["Parsed", "ParsedExpression", "parse_expression", "parse_model"]
