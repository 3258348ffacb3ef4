"""Puts the clients of the live tests into RETRO_LIVE, or .live: packages of npm, none of whose scripts is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from live import clients


def main() -> int:
    """Install what is missing."""
    wanted = clients.pinned()
    if any(clients.installed(package) != version for package, version in wanted.items()):
        print(f"installing the clients of the live tests into {clients.FOLDER} ...", file=sys.stderr)
        clients.FOLDER.mkdir(parents=True, exist_ok=True)
        (clients.FOLDER / ".gitignore").write_text("*\n", "utf-8")
        (clients.FOLDER / "package.json").write_bytes(clients.PINNED.read_bytes())
        flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
        try:
            done = subprocess.run(["npm", "install", *flags], cwd=clients.FOLDER, stdout=sys.stderr, check=False)
        except FileNotFoundError:
            print("npm was not found: it comes with Node.js, which the clients need anyway", file=sys.stderr)
            return 1
        if done.returncode:
            return done.returncode
    unpack()
    for package in wanted:
        print(f"{package} {clients.installed(package)}")
    return 0


def unpack() -> None:
    """Programs that come compressed, which the package's own script would unpack."""
    script = "const [from, to] = process.argv.slice(1); const fs = require('fs');"
    script += "fs.writeFileSync(to, require('zlib').brotliDecompressSync(fs.readFileSync(from)), {mode: 0o755})"
    for packed in (clients.FOLDER / "node_modules").glob("@*/*/bin/*.br"):
        program = packed.with_suffix("")
        if not program.exists():
            subprocess.run(["node", "-e", script, str(packed), str(program)], check=True)


if __name__ == "__main__":
    raise SystemExit(main())
