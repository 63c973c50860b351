"""Whatever is long in a file, what is told of it is not (CFG-04, CFG-10)."""

import json
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iop_edge.cli.console import PLAIN
from iop_edge.cli.render.report import report_github, report_sarif, report_text
from iop_edge.config.pipeline import check_sources
from iop_edge.config.source import Source
from iop_edge.documents import document
from iop_edge.errors import MAX_FILE_NAME, MAX_TEXT, Report, Span, Violation, shortened
from tests.support import EXAMPLES
from tests.unit.config.loading import World

_LONGEST_LINE: Final = 10 * (MAX_FILE_NAME + 4 * MAX_TEXT)
"""A character that a terminal would act on is shown as up to ten."""

_EXAMPLES: Final = [path.read_text() for path in sorted(EXAMPLES.glob("*.yaml"))]
_LONG: Final = st.builds(
    str.__mul__,
    st.one_of(
        st.sampled_from(["A", "x-", "서"]),
        st.sampled_from(["x ", "\U000e0001", "${env:", "}", "$", "'", '\\"', "a: ", "- ", "%", "\\n", "[1]."]),
    ),
    st.integers(1000, 5000),
)
_AROUND: Final = (
    *("{}", "'{}'", '"{}"', "'${{env:{}}}'", "'${{file:{}}}'", "'${{{}}}'", "&{} a", "*{}", "!{} a", "# {}", "{}: 1"),
    *("? {}\n: 1", "[{}]", "{{{}: 1}}", "<<: {}", "%{}\n---", "http://{}/", "http://u:{}@h/", "unix:/{}", "a:{}"),
)
_CONFIG: Final = """\
edge: {id: e, name: ANY}
long_context_threshold_tokens: ANY
openai: {model_routes: [{model: m, adapter: a, target: ANY}], provider_auth: {from_header: ANY, providers: [ANY]}}
nodes:
  - id: ANY
    address: ANY
    token: ANY
    agent_kind: ANY
    adapters:
      - {name: ANY, type: ollama, base_url: ANY, headers: {'ANY ': 'ANY'}}
      - {name: c, type: cli, profile: ANY}
    providers:
      - {id: p, type: ollama, category: ANY, adapter: ANY, models: [m, ANY], capacity: ANY}
models:
  - {id: m, providers: [{id: ANY, target: ANY}], usage_attribution: {'ANY': 7}}
ANY: ANY
"""


@st.composite
def _overlong(draw: st.DrawFn) -> str:
    """An example with something long in the place of some of its words."""
    text = draw(st.sampled_from([_CONFIG, *_EXAMPLES]))
    words = list(re.finditer("ANY" if text is _CONFIG else r"[^\s:,{}\[\]\"']+", text))
    for word in sorted(draw(st.sets(st.sampled_from(words), min_size=1, max_size=3)), key=re.Match.start, reverse=True):
        long = draw(st.sampled_from(_AROUND)).format(draw(_LONG))
        text = text[: word.start()] + long + text[word.end() :]
    return text.replace("ANY", "any")


def _assert_short(report: Report) -> None:
    found = [*report.violations, *report.warnings]
    for violation in found:
        assert max(map(len, (violation.path, violation.message, violation.hint))) <= MAX_TEXT
    texts = (
        report_text(report, PLAIN, ok=False),
        report_github(report, ok=False),
        json.dumps(document(report, without="excerpts"), indent=1, ensure_ascii=False),
        json.dumps(report_sarif(report, "1"), indent=1, ensure_ascii=False),
    )
    for text in texts:
        assert max(map(len, text.splitlines())) <= _LONGEST_LINE


@pytest.mark.contract("CFG-04", "CFG-10")
@given(_overlong(), st.one_of(st.just("edge.yaml"), _LONG), st.booleans())
def test_no_violation_is_longer_than_its_bound(text: str, name: str, private: bool) -> None:
    _assert_short(check_sources([Source(name, text.encode(), private=private)], World()))


@pytest.mark.contract("CFG-04")
@given(st.text(min_size=1).map(lambda text: text * 200), st.integers(60, 2000))
def test_a_shortened_text_begins_and_ends_as_it_did_and_tells_its_length(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert len(short) <= limit
    if len(text) <= limit:
        assert short == text
    else:
        assert f"{len(text)} characters" in short
        assert text.startswith(short[:10])
        assert text.endswith(short[-10:])


@pytest.mark.contract("CFG-04")
def test_a_violation_shortens_what_it_is_given() -> None:
    violation = Violation("a.b", "p" * 5000, Span("f" * 5000, 1, 1), "m" * 5000, "h" * 5000)
    assert len(str(violation)) <= MAX_FILE_NAME + 3 * MAX_TEXT + 40
    assert Violation("a.b", "p", None, "m" * MAX_TEXT).message == "m" * MAX_TEXT
