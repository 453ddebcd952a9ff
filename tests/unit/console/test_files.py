"""What the console's files may be: no way for a text to become markup or code, nothing remote."""

import base64
import hashlib
import re
import tomllib
from pathlib import Path

import pytest

from supervisor.console.site import FOLDER, POLICY, TYPES, Site

ROOT = Path(__file__).parents[3]
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]

FORBIDDEN = {
    "markup out of text": r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|parseFromString|"
    r"createContextualFragment|document\.write|DOMParser|srcdoc:",
    "code out of text": r"\beval\(|new Function|setTimeout\(\s*['\"`]|setInterval\(\s*['\"`]|"
    r"import\(|importScripts|javascript:",
    "something remote": r"['\"`(]\s*(?:https?:)?//[a-z]",
    "a style in markup": r"\.style\b|style=|cssText",
    "a store that others read": r"document\.cookie|postMessage\(.*['\"]\*['\"]",
    "a token in an address": r"[?&](?:token|code|csrf)=",
}
ALLOWED = {
    ("dom.js", "something remote"): "the name of SVG's elements, which nothing is loaded from",
    ("icon.svg", "something remote"): "the same",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_file_holds_nothing_that_makes_text_run_or_load(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for what, pattern in FORBIDDEN.items():
        if (path.name, what) not in ALLOWED:
            found = re.search(pattern, text)
            assert found is None, f"{what}: {found and found.group(0)}"


def test_control_what_is_forbidden_is_found() -> None:
    for sample in (
        "x.innerHTML = y",
        "eval(x)",
        "setTimeout('go()')",
        'fetch("//evil.example")',
        "node.style.color = x",
        "document.cookie",
        "`/x?token=${t}`",
    ):
        assert any(re.search(pattern, sample) for pattern in FORBIDDEN.values()), sample


def test_the_page_has_no_script_style_or_handler_of_its_own() -> None:
    page = (FOLDER / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.search(r"<style|\son\w+=|\sstyle=", page) is None
    for address in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert address.startswith(("/console/", "#")), address
        if address.startswith("/console/"):
            assert (FOLDER / address.removeprefix("/console/")).is_file()


def test_the_script_that_stands_in_the_page_as_it_is_served_is_the_one_that_its_policy_names() -> (
    None
):
    page = Site().find("/")
    assert page is not None
    (within,) = re.findall(rb"<script>(.*?)</script>", page.content, re.DOTALL)
    assert within == (FOLDER / "start.js").read_bytes()
    digest = base64.b64encode(hashlib.sha256(within).digest()).decode()
    named = f"script-src 'self' 'sha256-{digest}'; "
    assert page.policy == POLICY.replace("script-src 'self'; ", named)
    assert b"<!--" not in within
    assert re.findall(rb"<script(?![^>]*\bsrc=)", page.content) == [b"<script"]


def test_every_import_names_a_file_that_is_served() -> None:
    site = Site()
    for path in SCRIPTS:
        for named in re.findall(r'^import .* from "([^"]+)";$', path.read_text(), re.MULTILINE):
            assert named.startswith("."), named
            target = (path.parent / named).resolve().relative_to(FOLDER.resolve())
            assert site.root + target.as_posix() in site, f"{path.name}: {named}"


def test_files_are_small_and_of_kinds_that_are_served() -> None:
    for path in FILES:
        assert path.suffix in TYPES
        assert len(path.read_text().splitlines()) < 300, path.name


def test_the_installed_package_has_every_file() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = data["tool"]["setuptools"]["package-data"]["supervisor"]
    packed = {path for pattern in patterns for path in (ROOT / "supervisor").glob(pattern)}
    assert set(FILES) <= packed


def test_the_policy_lets_in_nothing_but_our_own_files() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    for name in ("script-src", "style-src", "connect-src"):
        assert rules[name] == "'self'"
    for name in ("form-action", "frame-ancestors", "base-uri"):
        assert rules[name] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in POLICY
