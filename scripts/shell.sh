# shellcheck shell=bash
# What the scripts share: how they speak, how they become root, and which engine they mean. Sourced,
# never run.

name=$(basename "$0")

say() { printf '%s: %s\n' "$name" "$*" >&2; }

die() {
    say "$@"
    exit 1
}

# Asked for help, a script shows what stands at its top, and does nothing.
case "${1:-}" in
    -h | --help)
        sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$(dirname "${BASH_SOURCE[0]}")/$name"
        exit 0
        ;;
esac

# For a script that takes no words: a mistyped one is told, and not passed over.
#
#   no_words "$@"
no_words() { [ $# -eq 0 ] || die "usage: scripts/$name, without more words"; }

# Why nothing can be done as root from here; empty if it can.
why_no_root() {
    if [ "$(id -u)" = 0 ]; then return; fi
    if ! command -v sudo >/dev/null; then
        echo "there is no sudo"
    elif [ ! -t 0 ] && ! sudo -n true 2>/dev/null; then
        echo "sudo asks for a password, but there is no terminal to ask at"
    fi
}

# Runs a command as root: directly, or by sudo, which asks for a password only at a terminal.
as_root() {
    local why
    why=$(why_no_root)
    [ -z "$why" ] || die "this needs root, and $why: run as root:  $(printf '%q ' "$@")"
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

# The engine's socket, found as the supervisor finds it.
engine_socket() {
    local host=${TRUSTFLOOR_ENGINE_SOCKET:-${DOCKER_HOST:-/var/run/docker.sock}}
    host=${host#unix://}
    case "$host" in
        /*) printf '%s\n' "$host" ;;
        *) die "DOCKER_HOST=$host is no Unix socket: Trustfloor uses the engine of this machine" ;;
    esac
}

# Sets `docker` to the client to use, and lets it speak with that engine.
use_our_engine() {
    # Another client on the path may lack the plug-ins of the distribution's; prefer the latter.
    # shellcheck disable=SC2034  # for the script that calls this
    docker=$([ -x /usr/bin/docker ] && echo /usr/bin/docker || echo docker)
    command -v "$docker" >/dev/null || die "there is no docker client: scripts/images installs one"
    DOCKER_HOST=unix://$(engine_socket)
    export DOCKER_HOST
    unset DOCKER_CONTEXT
}

# Sees to it that the script that calls this may use the engine, of which it needs no more than its
# socket's group: without it, the script runs once more, as the same user with that group besides.
# Not as root, who would leave files in the clone that are not the user's.
#
#   with_engine_rights SCRIPT "$@"
with_engine_rights() {
    local socket group said kept why
    socket=$(engine_socket)
    if [ ! -S "$socket" ] || [ -w "$socket" ]; then return; fi
    group=$(stat -c %g "$socket")
    said=$(stat -c %G "$socket")
    if [ "$(id -u)" = 0 ] || [ -n "${ENGINE_GROUP_LENT:-}" ]; then
        die "$socket can't be written to, even $([ "$(id -u)" = 0 ] && echo "as root" || echo "with the group $said")"
    fi
    command -v setpriv >/dev/null || die "$socket is not yours to use: join its group, with  sudo usermod -aG $said $(id -un)"
    why=$(why_no_root)
    [ -z "$why" ] || die "$socket is not yours to use, and $why. As root, once:  usermod -aG $said $(id -un)" \
        "   then log in anew; whoever has that group can become root by it"
    say "$socket is not yours to use, so this run has its group, $said, lent by sudo. To have it for good:"
    say "  sudo usermod -aG $said $(id -un)    and log in anew; whoever has it can become root by it"
    kept=$(mktemp)
    # shellcheck disable=SC2064  # as it is now: it is a local variable
    trap "rm -f '$kept'" EXIT
    export ENGINE_GROUP_LENT=yes
    # By a file that only this user can read: sudo drops variables, and arguments are for all to see.
    export -p >"$kept"
    # shellcheck disable=SC2016  # expanded by the inner shell
    as_root setpriv --reuid "$(id -u)" --regid "$(id -g)" --groups "$(id -G | tr ' ' ','),$group" \
        bash -c '. "$1"; cd "$2"; exec "${@:3}"' bash "$kept" "$PWD" "$@"
    exit
}
