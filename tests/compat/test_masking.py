"""Planted secrets are in no byte of what is stored or published: site, store, pack, export. Harmless names stay."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
import yaml

from tests.build.support import write
from tests.compat.support import command

DATA = Path(__file__).resolve().parents[1] / "data"


def _made(prefix: str, body: str) -> str:
    """A token of a known shape, put together here: written out it would stop a push."""
    return prefix + body


PLANTED = {
    "password": "hunter2planted",
    "second password": "correct-horse-planted",
    "in a list": "listed0planted1",
    "hex api key": "0123456789abcdef0123456789abcdef0bad5eed",
    "hub token": _made("hf" + "_", "PlantedAbCdEfGhIjKlMnOpQrStUvWx"),
    "model key": _made("sk" + "-", "planted0123456789abcdefABCDEF"),
    "code host token": _made("gh" + "p_", "Planted0123456789abcdefABCDEF0123456789"),
    "cloud key": _made("AK" + "IA", "PLANTED012345678"),
    "chat token": _made("xo" + "xb-", "123456789012-planted"),
    "web token": _made("ey" + "J", "hbGciOiJIUzI1NiJ9.eyJwbGFudGVkIjoxfQ.c2lnbmF0dXJlcGxhbnRlZA"),
    "on a command line": "cmdline0planted",
    "after a flag": "flagged0planted",
    "login in an address": "urlpw0planted",
    "bare login": "urltoken0planted",
    "signature": "sigplanted0AAAA",
    "user": "plantedalice",
    "mail user": "planted.bob",
    "host": "planted-node-17",
    "full host": "gpu7.planted.example",
    "address": "10.23.45.67",
    "node list": "planted[01-04]",
}
NAMES = ("lab/native", "boards", "tracked")
HARMLESS = {
    "use_cls_token": True,
    "pad_token": "<pad>",
    "num_tokens": 512,
    "key_dim": 64,
    "tokenizer": "bert-base-uncased",
    "monkey_patch": "none",
    "sort_key": "length",
    "passes": 3,
    "host_memory": "pinned",
    "user_loss": "hinge",
}


def config(seed: int) -> dict[str, object]:
    p = PLANTED
    return {
        "task": "copy" if seed < 2 else "sort",
        "seed": seed,
        "db": {"password": p["password"], "url": f"postgres://lab:{p['login in an address']}@db.example/runs"},
        "passphrase": p["second password"],
        "wandb_api_key": p["hex api key"],
        "hub": {"token": p["hub token"]},
        "openai": p["model key"],
        "aws_access_key_id": p["cloud key"],
        "slack": f"posted with {p['chat token']}",
        "session": p["web token"],
        "argv": f"train.py --api-key={p['on a command line']} --password {p['after a flag']} --lr 0.1",
        "services": [{"name": "db", "password": p["in a list"]}],
        "env": [f"API_KEY={p['on a command line']}", f"HF_TOKEN={p['hub token']}"],
        "fetch": f"https://data.example/x?sig={p['signature']}&v=1",
        "clone": f"https://{p['bare login']}@git.example/lab.git",
        "data_dir": f"/home/{p['user']}/data",
        "windows_dir": f"C:\\Users\\{p['user']}\\data",
        "user": p["user"],
        "email": f"{p['mail user']}@uni.example",
        "hostname": p["host"],
        "master_addr": p["address"],
        "slurm_nodelist": p["node list"],
        f"by_{p['hub token']}": 1,
        **HARMLESS,
    }


@pytest.fixture
def leaky(folder: Path) -> Path:
    """A notebook whose runs hold every planted text, in every place that a run has, and in two layouts."""
    shutil.rmtree(folder / "collections")
    shutil.rmtree(folder / "docs")
    native = "collections/lab/native"
    files: dict[str, str] = {
        "docs/index.md": "# Home\n",
        "mkdocs.yml": "site_name: x\nplugins: [search, sweepprof]\n",
        f"{native}/collection.yml": yaml.safe_dump(
            {
                "description": f"Run on https://lab:{PLANTED['login in an address']}@tracker.example/.",
                "run_url": f"https://lab:{PLANTED['login in an address']}@tracker.example/{{run}}"
                f"?api_key={PLANTED['on a command line']}",
                "commentary": {"limits": f"Data came with `{PLANTED['hub token']}`."},
            }
        ),
    }
    for seed in range(4):
        extra = {1: PLANTED["host"], 2: PLANTED["code host token"], 3: PLANTED["user"]}.get(seed, "plain")
        run = f"{native}/runs/run{seed}-{extra}"
        files[f"{run}/config.yaml"] = yaml.safe_dump(config(seed))
        files[f"{run}/profile.json"] = json.dumps(
            {
                "wall_seconds": 100.0 + seed,
                "sections": [
                    {"section": "train", "count": 10, "total_seconds": 60.0},
                    {"section": f"load/{PLANTED['hub token']}", "count": 1, "total_seconds": 20.0},
                    {"section": f"save on {PLANTED['host']}", "count": 1, "total_seconds": 10.0},
                ],
            }
        )
        events = [
            {"time": 1e9, "event": "run_start"},
            {"time": 1e9 + 50, "event": "checkpoint", "name": f"to /home/{PLANTED['user']}/best.pt"},
            {"time": 1e9 + 80, "event": f"upload {PLANTED['model key']}"},
            {"time": 1e9 + 90, "event": "epoch_end", "epoch": 0},
            {"time": 1e9 + 100 + seed, "event": "run_end", "status": "completed"},
        ]
        files[f"{run}/events.jsonl"] = "".join(json.dumps(e) + "\n" for e in events)
    # Runs that cannot be read: what messages quote is masked too.
    broken = f"{native}/runs/broken-{PLANTED['hub token']}"
    files[f"{broken}/config.yaml"] = f"hub: [{PLANTED['hub token']}\n  password: {PLANTED['password']}: x\n"
    files[f"{broken}/profile.json"] = json.dumps({"wall_seconds": PLANTED["model key"], "sections": 3})
    write(folder, files)
    shutil.copytree(DATA / "tensorboard/A", folder / "collections/boards")
    for path in sorted((folder / "collections/boards").rglob("events.out.*")):
        path.rename(path.with_name(path.name.replace("trainbox", PLANTED["full host"])))
    shutil.copytree(DATA / "trackers/mlflow", folder / "collections/tracked")
    for path in sorted((folder / "collections/tracked").rglob("*")):
        if path.name == "meta.yaml":
            text = path.read_text().replace("/home/user/", f"/home/{PLANTED['user']}/")
            path.write_text(text.replace("user_id: user", f"user_id: {PLANTED['user']}"))
        elif path.name == "mlflow.user":
            path.write_text(PLANTED["user"])
        elif path.name == "mlflow.source.name":
            path.write_text(f"/home/{PLANTED['user']}/train.py")
        elif path.name == "params":
            for name in ("password", "hub token", "host"):
                (path / {"host": "hostname"}.get(name, name.replace(" ", "_"))).write_text(PLANTED[name])
    return folder


def leaks(*places: Path) -> list[str]:
    """``file: what`` for each planted text in a name or the bytes of a file, plain, packed or percent-encoded."""
    found: list[str] = []
    count = 0
    for place in places:
        for path in sorted(p for p in place.rglob("*") if p.is_file()):
            count += 1
            content = path.read_bytes()
            if content[:2] == b"\x1f\x8b":
                content = gzip.decompress(content)
            content += b"\n" + path.relative_to(place).as_posix().encode()
            both = content + b"\n" + unquote_to_bytes(content)
            for what, text in PLANTED.items():
                if text.encode() in both:
                    at = both.index(text.encode())
                    found.append(f"{path.relative_to(place)}: {what}: {both[max(0, at - 60) : at + 40]!r}")
    assert count > 5, "nothing was searched"
    return found


def test_planted_secrets_are_nowhere(leaky: Path) -> None:
    assert len(leaks(leaky / "collections")) > 40  # the search itself works
    built = command(leaky, "mkdocs", "build")
    assert built.returncode == 0 and "Traceback" not in built.stdout, built.stdout
    exported = command(leaky, "sweepprof", "export", "--out", "exported")
    assert exported.returncode == 0, exported.stdout
    for name in NAMES:
        packed = command(leaky, "sweepprof", "pack", f"collections/{name}", f"packed/{name}")
        assert packed.returncode == 0, packed.stdout
    started = command(leaky, "sweepprof", "check", "--json")
    (leaky / "checked").mkdir()
    for i, done in enumerate((built, exported, started)):
        (leaky / f"checked/{i}").write_text(done.stdout.replace(str(leaky), ""))
    for name in NAMES:
        assert (leaky / f"site/{name}/profiling/facts.json").is_file()
    places = [leaky / p for p in ("site", ".cache", "exported", "packed")]
    assert not leaks(*places), "\n".join(leaks(*places))
    # So are the messages: a build log is public on many a build server.
    (leaky / "checked/pad").mkdir()
    for i in range(6):
        (leaky / f"checked/pad/{i}").write_text("")
    assert not leaks(leaky / "checked"), "\n".join(leaks(leaky / "checked"))


def first_run(folder: Path) -> dict[str, str]:
    """A whole run's line in ``runs.csv``."""
    with (folder / "site/lab/native/profiling/runs.csv").open(newline="") as lines:
        return next(row for row in csv.DictReader(lines) if row["run"].startswith("run0"))


def test_harmless_names_are_kept(leaky: Path) -> None:
    assert command(leaky, "mkdocs", "build").returncode == 0
    shown = first_run(leaky)
    for name, value in HARMLESS.items():
        assert shown.get(name) == (str(value).lower() if isinstance(value, bool) else str(value)), name
    assert shown["data_dir"] == "/home/(user)/data"
    assert shown["db.password"] == "(masked)"


def test_masking_can_be_overridden(leaky: Path) -> None:
    (leaky / "mkdocs.yml").write_text(
        "site_name: x\nplugins:\n  - sweepprof:\n"
        "      publish_fields: [passphrase]\n      redact: [tokenizer, sort_*]\n"
    )
    assert command(leaky, "mkdocs", "build").returncode == 0
    shown = first_run(leaky)
    assert shown["passphrase"] == PLANTED["second password"]
    assert shown["tokenizer"] == shown["sort_key"] == "(masked)"
    assert shown["db.password"] == "(masked)"
    found = leaks(leaky / "site", leaky / ".cache")
    assert found and all(": second password: " in line for line in found), found
