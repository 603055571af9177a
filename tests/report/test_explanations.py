"""What `dpcheck explain` says of every code: whole sentences, in words of the user's."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from dpcheck.diagnostics.registry import mistakes_by_code
from dpcheck.report.explanations import explanation_lines, index_lines
from dpcheck.report.styled import plain

KINDS = mistakes_by_code()


@pytest.mark.parametrize("code", KINDS)
def test_a_title_names_no_field_of_its_class_and_is_not_cut(code):
    (title,) = map(plain, index_lines({code: KINDS[code]}))
    names = {each.name for each in fields(KINDS[code])}
    assert names.isdisjoint(re.findall(r"`(\w+)`", title))
    assert title[-1] not in ",;:"
    assert plain(next(iter(explanation_lines(KINDS[code])))).endswith(title.removeprefix(code)[2:])


@pytest.mark.parametrize("code", KINDS)
def test_texts_of_a_mistake_fill_in_fields_that_it_has(code):
    kind = KINDS[code]
    texts = [vars(kind).get("title_text", ""), kind.help_text]
    filled = re.findall(r"\{self\.(\w+)", "".join(texts))
    known = {*kind.__dataclass_fields__, *dir(kind)}
    assert [name for name in filled if name not in known] == []
