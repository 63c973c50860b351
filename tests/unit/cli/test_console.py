import hashlib
import io
import json
import subprocess
import sys

import pytest

from iop_edge.cli.console import Console, Paint, Style
from tests.unit.cli.invoke import Terminal


@pytest.mark.parametrize(
    ("stream", "environ", "coloured"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": "0"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(stream: io.StringIO, environ: dict[str, str], coloured: bool) -> None:
    assert Style.of(stream, environ).coloured is coloured
    assert Console(io.StringIO(), stream, io.StringIO(), environ).style.coloured is coloured


def test_paint_leaves_plain_text_alone() -> None:
    assert Style(coloured=False).paint("x", Paint.BAD) == "x"
    assert Style(coloured=True).paint("x", Paint.BAD) == "\x1b[1;31mx\x1b[0m"
    assert Style(coloured=True).paint("", Paint.BAD) == ""


def test_results_and_notes_go_to_their_streams() -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console(io.StringIO(), out, err, {})
    console.result("result")
    console.result("")
    console.note("note\n")
    assert (out.getvalue(), err.getvalue()) == ("result\n", "note\n")


def test_reader_that_goes_away_is_no_fault() -> None:
    script = "import sys; from iop_edge.cli.main import entry; sys.argv = ['iop-edge', 'config', 'schema']; entry()"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, b"")


def test_text_that_the_stream_cannot_encode_is_escaped() -> None:
    script = "from iop_edge.cli.console import Console; Console.of_process().result('caf\\u00e9 \\udcff')"
    command = [sys.executable, "-c", script]
    finished = subprocess.run(command, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii"}, timeout=60)
    assert finished.stdout == b"caf\\xe9 \\udcff\n"


def test_document_that_the_stream_cannot_encode_is_json_all_the_same() -> None:
    script = "from iop_edge.cli.console import Console; Console.of_process().document(['caf\\u00e9 \\U0001f600'])"
    command = [sys.executable, "-c", script]
    for encoding in ("ascii", "latin-1", "utf-8"):
        finished = subprocess.run(
            command, capture_output=True, check=True, env={"PYTHONIOENCODING": encoding}, timeout=60
        )
        assert json.loads(finished.stdout.decode(encoding)) == ["caf\u00e9 \U0001f600"]


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(closing: str) -> None:
    script = (
        "import sys; from iop_edge.cli.main import run, Console; sys.exit(run(['--version'], Console.of_process()))"
    )
    shell = ["/bin/sh", "-c", f'exec "$0" -c "$1" {closing}', sys.executable, script]
    assert subprocess.run(shell, capture_output=True, check=False, timeout=60).returncode == 0


def test_full_disk_is_one_line_and_an_exit_code() -> None:
    script = "from iop_edge.cli.main import entry; import sys; sys.argv[1:] = ['config', 'schema']; entry()"
    shell = ["/bin/sh", "-c", 'exec "$0" -c "$1" >/dev/full', sys.executable, script]
    finished = subprocess.run(shell, capture_output=True, check=False, timeout=60)
    assert (finished.returncode, finished.stderr) == (4, b"iop-edge: No space left on device\n")


def test_error_stream_that_is_full_changes_no_exit_code() -> None:
    script = "from iop_edge.cli.main import entry; import sys; sys.argv[1:] = ['config', 'rollback', 'x']; entry()"
    shell = ["/bin/sh", "-c", 'exec "$0" -c "$1" 2>/dev/full', sys.executable, script]
    assert subprocess.run(shell, capture_output=True, check=False, timeout=60).returncode == 2


def test_standard_input_that_is_closed_is_a_file_that_cannot_be_read() -> None:
    script = "from iop_edge.cli.main import entry; import sys; sys.argv[1:] = ['config', 'check', '-']; entry()"
    shell = ["/bin/sh", "-c", 'exec "$0" -c "$1" <&-', sys.executable, script]
    finished = subprocess.run(shell, capture_output=True, check=False, timeout=60)
    assert (finished.returncode, finished.stderr) == (1, b"")
    assert b"[file.unreadable]" in finished.stdout


def test_input_that_is_not_utf_8_is_taken_byte_for_byte() -> None:
    script = "from iop_edge.cli.main import entry; import sys; sys.argv[1:] = ['config', 'hash-token']; entry()"
    command = [sys.executable, "-c", script]
    finished = subprocess.run(command, input=b"\xff\xfe\n", capture_output=True, check=True, timeout=60)
    assert hashlib.sha256(b"\xff\xfe").hexdigest().encode() in finished.stdout
