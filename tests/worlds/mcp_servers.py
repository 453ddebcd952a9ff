"""Real MCP servers: one made with the `mcp` package, and one of the standard library for cages.

Both have the tools `echo` (gives back its text), `look` (a variable of its environment) and `note`
(writes a file at a path, which shows that a call ran).
"""

import json
import sys
from pathlib import Path
from typing import Any

PACKAGED = """
import os, pathlib
from mcp.server import MCPServer

server = MCPServer("packaged")

@server.tool()
def echo(text: str) -> str:
    "Give the text back."
    return "echo: " + text

@server.tool()
def look(name: str) -> str:
    "A variable of this process."
    return "look: " + os.environ.get(name, "nothing")

@server.tool()
def note(place: str) -> str:
    "Write a file."
    pathlib.Path(place).write_text("noted")
    return "noted"

server.run()
"""

PLAIN = r"""
import json, os, pathlib, sys

TOOLS = {"echo": "text", "look": "name", "note": "place"}

def listed():
    return [{"name": name, "description": name, "inputSchema": {
        "type": "object", "properties": {field: {"type": "string"}}, "required": [field]}}
        for name, field in TOOLS.items()]

def called(name, given):
    if name == "echo":
        return "echo: " + given["text"]
    if name == "look":
        return "look: " + os.environ.get(given["name"], "nothing")
    pathlib.Path(given["place"]).write_text("noted")
    return "noted"

def answer(asked):
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "plain", "version": "1"}}
    if method == "tools/list":
        return {"tools": listed()}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": called(params["name"], params["arguments"])}]}
    return {}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        said = {"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}
        print(json.dumps(said), flush=True)
"""

STUBBORN = (
    r"""
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        time.sleep(600)
    os._exit(0)
"""
    + PLAIN
    + "\ntime.sleep(600)\n"
)
"""Ignores signals and the end of its input, and leaves a process that nobody is parent of."""


def packaged(folder: Path, **more: Any) -> dict[str, Any]:
    """The entry of a server made with the `mcp` package; it runs where the tests do."""
    script = folder / "packaged_server.py"
    script.write_text(PACKAGED)
    return {"command": sys.executable, "args": ["-u", str(script)], **more}


def plain(code: str = PLAIN, **more: Any) -> dict[str, Any]:
    """The entry of a server that any Python runs, in a cage too: the program is an argument."""
    return {"command": "python3", "args": ["-u", "-c", code], **more}


def configure(vault: Path, **servers: dict[str, Any]) -> None:
    """Write `.mcp.json` by hand."""
    (vault / ".mcp.json").write_text(json.dumps(servers))
