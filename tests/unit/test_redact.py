"""Masking of single texts and fields: what goes, what stays, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from mkdocs_sweepprof.readers.base import Event, Reading, Run, Scalar
from mkdocs_sweepprof.redact import HOST, MASK, USER, Redactor, secret_field


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("train.py --api-key=abc --password x1 --lr 0.1", f"train.py --api-key={MASK} --password {MASK} --lr 0.1"),
        ('["--password", "x", "--lr", "0.1"]', f'["--password", "{MASK}", "--lr", "0.1"]'),
        ('[{"name": "db", "password": "a b", "x": 1}]', f'[{{"name": "db", "password": "{MASK}", "x": 1}}]'),
        (r"{\"password\": \"abc\"}", rf"{{\"password\": \"{MASK}\"}}"),
        ('password="a\\"b" x', f'password="{MASK}" x'),
        ('password="never ends', f'password="{MASK}"'),
        ('a["password"]="x y"', f'a["password"]="{MASK}"'),
        ("--db.password=x y", f"--db.password={MASK} y"),
        ("HF_TOKEN=abcdef0123456789", f"HF_TOKEN={MASK}"),
        ("Bearer abcdefghijklmnop1234", MASK),
        ("by_hf" + "_" + "Ab1" * 10, f"by_{MASK}"),
        ("https://u:p@ss@h/x", f"https://{MASK}@h/x"),
        ("s3://h/x?X-Amz-Signature=abc&v=1", f"s3://h/x?X-Amz-Signature={MASK}&v=1"),
        ("/home/alice/data and C:\\Users\\bob\\x", f"/home/{USER}/data and C:\\Users\\{USER}\\x"),
        ("events.out.tfevents.1796100178.gpu7.lab.example.6302.1", f"events.out.tfevents.1796100178.{HOST}.6302.1"),
        ("at 10.23.45.67", f"at {HOST}"),
    ],
)
def test_secrets_in_texts_are_masked(text: str, masked: str) -> None:
    assert Redactor().text(text) == masked
    assert Redactor().text(masked) == masked  # masking twice changes nothing


@pytest.mark.parametrize(
    "text",
    [
        "num_tokens=512 max_token=512 pad_token=<pad>",
        "token_embedding=learned_sinusoidal_embedding",
        "the password is long, and passwords are many",
        "secret_sharing protocol, password-free login",
        "--use-password --lr 3",
        "basic transformer_encoder_block",
        "tokenizer: bert-base-uncased-2024",
        "https://host/x?a=b@c",
        "version 1.2.3.4 at 127.0.0.1",
        "/home/shared/data",
    ],
)
def test_harmless_texts_are_kept(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("db.password", "x", True),
        ("wandbApiKey", "x", True),
        ("hub.token", "abcdef0123456789", True),
        ("use_cls_token", True, False),
        ("pad_token", "<pad>", False),
        ("num_tokens", 512, False),
        ("sort_key", "length", False),
        ("password", None, False),
        ("monkey", "abcdef0123456789", False),
    ],
)
def test_secret_fields(name: str, value: Scalar, secret: bool) -> None:
    assert secret_field(name, value) is secret


def test_names_are_learned_from_fields_and_masked_everywhere() -> None:
    run = Run(
        "r-node7",
        "native",
        directory="runs/r-node7",
        config={"hostname": "node7", "user": "alice", "nodelist": "gpu[01-04],gpu09", "host_memory": "pinned"},
        events=[Event(0.0, "saved by alice", "on gpu09")],
    )
    done = Redactor().reading(Reading([run])).runs[0]
    assert (done.id, done.directory) == (f"r-{HOST}", f"runs/r-{HOST}")
    assert done.config == {"hostname": HOST, "user": USER, "nodelist": HOST, "host_memory": "pinned"}
    assert (done.events[0].event, done.events[0].name) == (f"saved by {USER}", f"on {HOST}")


def test_a_link_still_leads_there() -> None:
    assert (
        Redactor().link("https://me:pw@tracker.example/{run}?token=abc")
        == f"https://tracker.example/{{run}}?token={MASK}"
    )


@pytest.mark.parametrize(
    "piece",
    [
        *("a.", "a-", "1.", "x ", "--", '"', '\\"', "/home/", "http://", "tfevents.1.", "eyJ", "_eyJ", "bearer "),
        *("password", "token=", 'password="', "?token", "--password ", "secret '"),
    ],
)
def test_long_values_are_masked_to_the_end(piece: str, record_property: Callable[[str, object], None]) -> None:
    """The patterns do not run away on long values: what is measured is printed, and the secret behind is masked."""
    text = piece * (100_000 // len(piece))
    started = time.perf_counter()
    secret = "hf" + "_" + "Ab1" * 10
    out = Redactor().text(f"{text} {secret}")
    record_property(f"masking 100 000 characters of {piece!r}, s", round(time.perf_counter() - started, 3))
    assert secret not in out
