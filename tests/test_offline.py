"""Nothing uses the network at run time: the kernel kills whoever opens an internet socket."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import offline, reader

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not offline.supported(), reason="needs Linux on x86-64 or 64-bit ARM")

FREEGAP = [sys.executable, "-c", "from freegap.cli import main; main()"]
TABLE = "baskets.parquet --item product --person customer --domain products.csv --epsilon 1"
COMMANDS = (
    "demo --out demo",
    f"top-k {TABLE} -k 3 --measure --out page.html --out chart.svg --ledger shop",
    f"above {TABLE} --threshold 900 -k 3",
    "budget verify",
    "audit shop.dp:release --epsilon 1 --neighbours one --samples 2000 --search-samples 500 --jobs 2",
    "prove shop.dp:mechanism --alignment shop.dp:alignment --epsilon 1",
)


def run(command: list[str], where: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "HOME": str(where),
        "FREEGAP_LEDGER": f"sqlite:///{where}/demo/ledger.db",
    }
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.offline", *command],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_command_opens_an_internet_socket(tmp_path: Path) -> None:
    reader.settle(tmp_path)
    for command in COMMANDS:
        done = run([*FREEGAP, *command.split(" ")], tmp_path)
        assert done.returncode == 0, (command, done.stderr)


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_whoever_opens_one_is_killed(family: str, tmp_path: Path) -> None:
    opens = f"import socket; socket.socket(socket.{family})"
    assert run([sys.executable, "-c", opens], tmp_path).returncode == -signal.SIGSYS
    local = "import socket; socket.socketpair(); print('alive')"
    assert run([sys.executable, "-c", local], tmp_path).stdout == "alive\n"


def test_a_compiled_library_is_killed_too(tmp_path: Path) -> None:
    opens = "import ctypes, socket; ctypes.CDLL(None).socket(int(socket.AF_INET), 1, 0)"
    assert run([sys.executable, "-c", opens], tmp_path).returncode == -signal.SIGSYS
