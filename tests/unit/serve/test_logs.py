import errno
import io
import json
import logging

import pytest

from iop_edge.serve.logs import logging_to
from iop_pb.trees import LogFormat, LogLevel

OWN = logging.getLogger("iop_edge.serve.anything")
LIBRARY = logging.getLogger("hpack.hpack")


def lines(form: LogFormat, level: LogLevel = "info") -> list[str]:
    stream = io.StringIO()
    with logging_to(stream, {"format": form, "level": level}):
        OWN.debug("a detail")
        OWN.info("a day like any other")
        LIBRARY.debug("authorization: Bearer s3cr3t")
        LIBRARY.info("authorization: Bearer s3cr3t")
        LIBRARY.warning("a fault")
        OWN.error("a failure of %s\nthat spans lines \x1b[31m", "gpu-ü")
    OWN.error("after the end")
    return stream.getvalue().splitlines()


def test_a_json_log_is_one_object_a_line() -> None:
    entries = [json.loads(line) for line in lines("json")]
    assert [(entry["level"], entry["logger"]) for entry in entries] == [
        ("info", OWN.name),
        ("warning", LIBRARY.name),
        ("error", OWN.name),
    ]
    assert entries[-1]["message"] == "a failure of gpu-ü\nthat spans lines \x1b[31m"


def test_a_text_log_is_one_line_each_without_control_characters() -> None:
    shown = lines("text")
    assert len(shown) == 3
    assert "gpu-ü\\nthat spans lines \\x1b[31m" in shown[-1]


@pytest.mark.parametrize(("level", "messages"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_level_is_the_lowest_that_is_written(level: LogLevel, messages: int) -> None:
    assert len(lines("json", level)) == messages


class _Full(io.StringIO):
    def write(self, _text: str, /) -> int:
        raise OSError(errno.ENOSPC, "no space left")


def test_a_line_that_cannot_be_written_is_dropped_and_nobody_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(_Full(), {"format": "text", "level": "info"}):
        OWN.info("a day like any other")
    assert capsys.readouterr().err == ""


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("form", ["json", "text"])
def test_what_libraries_print_while_they_send_is_never_logged(form: LogFormat) -> None:
    assert "s3cr3t" not in "".join(lines(form, "debug"))


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("form", ["json", "text"])
def test_an_exception_is_logged_by_its_type_alone(form: LogFormat) -> None:
    stream = io.StringIO()
    with logging_to(stream, {"format": form, "level": "info"}):
        try:
            raise ValueError("s3cr3t")
        except ValueError:
            OWN.exception("it went wrong")
    assert "it went wrong: ValueError" in stream.getvalue()
    assert "s3cr3t" not in stream.getvalue()
    assert "Traceback" not in stream.getvalue()
