"""The loader against Go's yaml.v3, strict and typed: what is laxer than it would be two configs in one file."""

import base64
import json
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from iop_edge.config.decode import decode
from iop_edge.config.source import Decoded, Source
from iop_edge.schema import table
from tests.interop import yaml_corpus
from tests.interop.one_shape import holds_typed_reference, in_one_shape
from tests.support import ROOT

pytestmark = [pytest.mark.go, pytest.mark.contract("CFG-11")]

MUTANTS = 2_000


@dataclass(frozen=True)
class Reading:
    """One text, as both sides read it."""

    text: bytes
    ours: Decoded
    theirs: dict[str, Any]

    @property
    def we_accept(self) -> bool:
        return not self.ours.findings

    @property
    def they_accept(self) -> bool:
        return "error" not in self.theirs

    @property
    def is_one_config(self) -> bool:
        root = table.root()
        return self.they_accept and in_one_shape(root, self.ours.tree or {}) == in_one_shape(
            root, self.theirs["config"]
        )


def readings(program: Path, texts: list[bytes]) -> list[Reading]:
    asked = "\n".join(json.dumps(base64.b64encode(text).decode()) for text in texts)
    done = subprocess.run([program], input=asked.encode(), capture_output=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        Reading(text, decode(Source("edge.yaml", text)), answer) for text, answer in zip(texts, answers, strict=True)
    ]


@pytest.fixture(scope="module")
def corpus(go_programs: Path) -> list[Reading]:
    texts = [*yaml_corpus.rows(), *yaml_corpus.examples(), *yaml_corpus.mutants(MUTANTS)]
    return readings(go_programs / "strictyaml", texts)


def test_what_is_accepted_go_accepts_as_the_same_config(corpus: list[Reading]) -> None:
    accepted = [
        item for item in corpus if item.we_accept and not holds_typed_reference(table.root(), item.ours.tree or {})
    ]
    assert len(accepted) > MUTANTS / 3
    assert [(item.text.decode(), item.theirs) for item in accepted if not item.is_one_config] == []


def test_what_is_refused_though_go_accepts_it_is_explained(
    corpus: list[Reading], capsys: pytest.CaptureFixture[str]
) -> None:
    stricter: dict[str, list[Reading]] = defaultdict(list)
    for item in corpus:
        if item.they_accept and not item.we_accept:
            stricter[item.ours.findings[0].rule].append(item)
    with capsys.disabled():
        sys.stdout.write("\nrefused here, accepted by Go:\n")
        for rule, items in sorted(stricter.items()):
            sys.stdout.write(f"{len(items):6}  {rule:20}  {items[0].ours.findings[0].message}\n")
    section = (ROOT / "docs" / "yaml.md").read_text(encoding="utf-8").partition("## What Go accepts")[2]
    assert sorted(re.findall(r"^\| `(\S+)` \|", section, re.MULTILINE)) == sorted(stricter)
