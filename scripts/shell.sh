# shellcheck shell=bash
# What the scripts share: how they speak, and how they become root. Sourced, never run.

name=$(basename "$0")

say() { printf '%s: %s\n' "$name" "$*" >&2; }

die() {
    say "$@"
    exit 1
}

# Runs a command as root: directly, or by sudo, which asks for a password only at a terminal.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif ! command -v sudo >/dev/null; then
        die "this needs root, and there is no sudo: run as root:  $*"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}
