#!/usr/bin/env bash
# What the Makefile needs from the machine.
#   bootstrap.sh venv DIR        a virtual environment with pip
#   bootstrap.sh chromium        a Chromium for the browser tests
#   bootstrap.sh versions BIN    print what is tested with what
set -euo pipefail

# As root directly, else through sudo: only where something is missing.
apt_install() {
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "Missing: $*. Install it, or run this as root." >&2; exit 1; }
        root=(sudo)
    fi
    command -v apt-get >/dev/null || { echo "Missing: $*, and there is no apt-get to install it with." >&2; exit 1; }
    echo "Installing with apt: $*"
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

find_python() {
    local name
    for name in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$name"
            return
        fi
    done
    echo "Python 3.11 or newer is needed. Set PYTHON to one." >&2
    exit 1
}

make_venv() {
    local python
    python=$(find_python)
    # Debian and Ubuntu ship ensurepip in a package of its own.
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        local version
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        apt_install "python$version-venv" || apt_install python3-venv
    fi
    "$python" -m venv --clear "$1"
}

find_chromium() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

case "${1:-}" in
venv)
    make_venv "$2"
    ;;
chromium)
    find_chromium >/dev/null || apt_install chromium fonts-dejavu-core
    ;;
versions)
    "$2/python" --version
    "$2/python" -m pip list --format=freeze 2>/dev/null |
        grep -iE '^(mkdocs|mkdocs-material|pandas|scipy|matplotlib|pydantic|pytest|playwright|ruff|mypy)==' || true
    "$(find_chromium)" --version 2>/dev/null || true
    ;;
*)
    sed -n '2,5p' "$0"
    exit 2
    ;;
esac
