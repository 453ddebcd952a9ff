"""Makes trustfloor/sync out of trustfloor/aio: the same client without an event loop.

python -m tests.surface.sync_client            write it
python -m tests.surface.sync_client --check    status 1 if what is there is something else
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE, TARGET = ROOT / "trustfloor/aio", ROOT / "trustfloor/sync"
RUFF = (sys.executable, "-m", "ruff")
WORDS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAbstractAsyncContextManager\b", "AbstractContextManager"),
    (r"\ba(iter_sse|read)\b", r"\1"),
    (r"\bAsync([A-Z]\w*)", r"\1"),
    (r"\basyncio\b", "time"),
    (r"\btrustfloor\.aio\b", "trustfloor.sync"),
)


def main() -> int:
    """Write or compare each module; the exit status."""
    stale = 0
    for source in sorted(SOURCE.glob("*.py")):
        target = TARGET / source.name
        made = synced(source.read_text("utf-8"), target)
        if target.is_file() and target.read_text("utf-8") == made:
            continue
        if "--check" in sys.argv[1:]:
            sys.stdout.write(f"{target.relative_to(ROOT)} is not what this makes\n")
            stale = 1
        else:
            target.write_text(made, "utf-8")
    return stale


def synced(text: str, target: Path) -> str:
    """The module's text without what waits, sorted and formatted as the linter wants it."""
    if not text:
        return text
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    name = f"--stdin-filename={target}"
    text = _through("check", "--quiet", "--select=I", "--fix", name, "-", text=text)
    return _through("format", "--quiet", name, "-", text=text)


def _through(*arguments: str, text: str) -> str:
    done = subprocess.run(
        (*RUFF, *arguments), input=text, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
