"""Servers that wireproof starts: ready when they say so, told what they printed when they are not, gone afterwards."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.processes import StartError, module_command, running_server

SAYS = "import time; print('a banner'); print('listening tcp://127.0.0.1:9', flush=True); time.sleep(60)"
WAIT = subprocess.Popen.wait


def python(source: str) -> list[str]:
    return [sys.executable, "-c", source]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def at_once(process: Any, timeout: float | None = None) -> int:
    """Wait as asked when it is for ever, hardly at all otherwise."""
    return WAIT(process, timeout=None if timeout is None else 0.2)


def test_the_address_is_the_one_it_says() -> None:
    with running_server(python(SAYS)) as address:
        assert address == "tcp://127.0.0.1:9"


def test_a_server_that_ignores_being_asked_is_gone_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "SIGTERM", signal.SIGCONT)
    source = f"import os; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); {SAYS}"
    monkeypatch.setattr(subprocess.Popen, "wait", at_once)
    with running_server(python(source)):
        pid = int((tmp_path / "pid").read_text())
        assert alive(pid)

    assert not alive(pid)


def test_a_noisy_server_is_not_held_up_by_its_own_noise() -> None:
    noise = "import sys; sys.stderr.write('x' * 1_000_000); sys.stderr.flush(); "
    with running_server(python(noise + SAYS)) as address:
        assert address == "tcp://127.0.0.1:9"


def test_a_line_that_is_not_finished_is_no_address() -> None:
    half = "import time; print('listening tcp://127', end='', flush=True); time.sleep(60)"
    with pytest.raises(StartError, match="ready"), running_server(python(half), timeout=0.5):
        pass


def test_a_server_that_ends_at_once_is_told_with_what_it_printed() -> None:
    with pytest.raises(StartError, match="no room"), running_server(python("import sys; sys.exit('no room')")):
        pass


def test_a_server_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with pytest.raises(StartError, match="ready"), running_server(python("import time; time.sleep(60)"), timeout=0.3):
        pass


def test_a_module_is_run_from_this_installation_whatever_the_folder_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reference_server.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    with running_server(module_command("reference_server", "throttr")) as address:
        assert address.startswith("tcp://127.0.0.1:")
