"""Servers that wireproof starts: ready when they take connections, told what they printed when they are not."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tests.processes import have_ended
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.run.processes import (
    ServerProcess,
    StartError,
    module_command,
    parse_command,
    running_server,
    servers,
)
from wireproof.conformance.run.processes.servers import ServerCommand, exit_text

LISTENS = "import os, signal, socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); "
SAYS = f"{LISTENS}print('a banner'); print('listening tcp://127.0.0.1:%d' % s.getsockname()[1], flush=True); "
STAYS = "time.sleep(60)"


def python(source: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", source, *arguments]


def started(source: str, *arguments: str, log: Path | None = None, ready: float = 10.0) -> ServerProcess:
    return ServerProcess(ServerCommand(tuple(python(source, *arguments))), log=log, ready_timeout=ready)


async def death_of(server: ServerProcess) -> str:
    async with asyncio.timeout(10):
        while (death := server.death()) is None:
            await asyncio.sleep(0.01)
    return death


def test_the_address_is_the_one_it_says() -> None:
    with running_server(python(SAYS + STAYS, "0")) as address:
        assert address.startswith("tcp://127.0.0.1:")


def test_a_server_that_is_given_its_port_need_say_nothing() -> None:
    with started(LISTENS + STAYS, "{port}") as server:
        assert server.address.port > 0
        assert server.death() is None


def test_listeners_are_read_though_they_are_printed_after_connections_are_taken() -> None:
    prints = "time.sleep(0.1); print('listening tcp://127.0.0.1:1\\nlistening hook unix:///hook', flush=True); "
    with started(LISTENS + prints + STAYS, "{port}") as server:
        assert server.announced_listeners() == {"hook": "unix:///hook"}


def test_host_and_port_are_filled_in_inside_words() -> None:
    assert parse_command("srv --bind {host}:{port} -x '{a b}'").at(7) == ["srv", "--bind", "127.0.0.1:7", "-x", "{a b}"]


def test_braces_mean_nothing_where_the_command_is_our_own() -> None:
    with running_server(python(SAYS + STAYS + "; print(f'{port}')", "0")) as address:
        assert address


@pytest.mark.parametrize(("text", "detail"), [("", "got nothing"), ("a 'b", "No closing quotation")])
def test_a_command_that_cannot_be_read_is_refused(text: str, detail: str) -> None:
    with pytest.raises(TargetError, match=detail):
        parse_command(text)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(StartError, match="cannot start 'no-such-program'"):
        ServerProcess(parse_command("no-such-program {port}")).__enter__()


def test_a_noisy_server_is_not_held_up_by_its_own_noise() -> None:
    noise = "import sys; sys.stderr.write('x' * 1_000_000); sys.stderr.flush(); print('y' * 10_000); "
    with running_server(
        python(f"{LISTENS}print('listening tcp://127.0.0.1:%d' % s.getsockname()[1], flush=True); {noise}{STAYS}", "0")
    ):
        pass


def test_a_line_that_is_not_finished_is_no_address() -> None:
    half = f"{LISTENS}print('listening tcp://127.0.0.1:%d' % s.getsockname()[1], end='', flush=True); {STAYS}"
    with pytest.raises(StartError, match="no line 'listening ADDRESS'"), started(half, "0", ready=0.5):
        pass


def test_an_address_that_cannot_be_read_is_reported() -> None:
    source = f"print('listening somewhere', flush=True); import time; {STAYS}"
    with pytest.raises(StartError, match="got 'somewhere'"), started(source):
        pass


def test_an_address_nobody_listens_at_is_not_ready() -> None:
    gone = f"{SAYS}s.close(); {STAYS}"
    with pytest.raises(StartError, match="that holds"), started(gone, "0", ready=0.5):
        pass


def test_a_server_that_ends_at_once_is_reported_with_what_it_printed() -> None:
    with (
        pytest.raises(StartError, match="ended with exit code 1\nno room"),
        running_server(python("import sys; sys.exit('no room')")),
    ):
        pass


def test_a_server_that_leaves_for_the_background_is_ended_there() -> None:
    source = f"import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nprint(os.getpid(), flush=True)\n{STAYS}"
    with (
        pytest.raises(StartError, match=r"exit code 0 \(it has to stay in the foreground\)"),
        started(source, "MARK-7"),
    ):
        pass

    assert have_ended(*(one.pid for one in psutil.process_iter(["cmdline"]) if "MARK-7" in (one.info["cmdline"] or ())))


def test_a_server_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with (
        pytest.raises(StartError, match=r"in 0\.3 s\nit printed nothing"),
        running_server(python(f"import time; {STAYS}"), timeout=0.3),
    ):
        pass


def test_a_port_is_none_that_others_are_given_unasked() -> None:
    first, last = servers.given_unasked()

    assert not any(first <= servers.free_port() <= last for _ in range(20))


def test_where_all_ports_are_given_unasked_one_of_them_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "given_unasked", lambda: (1, 65535))

    assert servers.free_port() > 0


def test_a_port_that_is_taken_after_all_is_left_for_another(tmp_path: Path) -> None:
    once = tmp_path / "once"
    taken = f"""
import os, sys
if not os.path.exists({str(once)!r}):
    open({str(once)!r}, 'w')
    sys.exit('Address already in use')
"""
    with started(taken + LISTENS + STAYS, "{port}") as server:
        assert server.starts == 2


@pytest.mark.parametrize(
    ("does", "death"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "died of SIGSEGV"),
        ("os._exit(3)", "ended with exit code 3"),
        ("os._exit(0)", "ended with exit code 0"),
        ("os._exit(139)", "ended with exit code 139 (a shell's way to say SIGSEGV)"),
    ],
)
def test_how_it_died_is_reported(does: str, death: str) -> None:
    with started(
        f"{LISTENS}s.accept(); s.accept(); print('goodbye', file=sys.stderr, flush=True); {does}", "{port}"
    ) as server:
        import socket

        socket.create_connection((server.address.host, server.address.port)).close()
        assert asyncio.run(death_of(server)) == death
        assert server.last_words()[-1] == "goodbye"


def test_a_signal_without_a_name_has_its_number() -> None:
    assert exit_text(-200) == "died of signal 200"
    assert exit_text(254) == "ended with exit code 254"


def test_it_is_started_again_and_the_log_says_so(tmp_path: Path) -> None:
    log = tmp_path / "target.log"
    log.write_text("of an earlier run")
    with started(f"{LISTENS}print('hello', flush=True); {STAYS}", "{port}", log=log) as server:
        first = server.address
        server.give_up("answered nobody")
        assert server.death() == "answered nobody"
        asyncio.run(server.restart("because it answered nobody"))
        assert server.death() is None
        assert server.address != first
        assert server.last_words() in ([], ["hello"])
        while not server.last_words():
            os.sched_yield()
    lines = log.read_text().splitlines()

    assert [line for line in lines if not line.startswith("===")] == ["hello", "hello"]
    assert lines[0].startswith("=== wireproof: start 1 at ")
    assert ", because it answered nobody: " in lines[2]


def test_a_module_is_run_from_this_installation_whatever_the_folder_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reference_server.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    with running_server(module_command("wireproof.reference_server", "throttr")) as address:
        assert address.startswith("tcp://127.0.0.1:")


def test_a_server_on_a_unix_socket_is_ready_too(tmp_path: Path) -> None:
    path = tmp_path / "s"
    source = f"import socket, time; s = socket.socket(socket.AF_UNIX); s.bind({str(path)!r}); s.listen(); "
    with started(f"{source}print('listening unix://{path}', flush=True); {STAYS}") as server:
        assert server.address.path == str(path)


def test_interrupted_while_it_gets_ready_it_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    waited = []

    def interrupt(seconds: float) -> None:
        if not waited and (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            waited.append(seconds)
            raise KeyboardInterrupt
        os.sched_yield()

    # the module's own name only: other threads of this process sleep, too
    monkeypatch.setattr(servers, "time", SimpleNamespace(**{**vars(time), "sleep": interrupt}))
    source = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); {STAYS}"
    with pytest.raises(KeyboardInterrupt), started(source, "{port}"):
        pass

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIG_DFL)
