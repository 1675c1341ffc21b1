"""Masking: planted secrets go, harmless names stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mkdocs_sweepprof.readers.base import Event, Problem, Reading, Run, Section
from mkdocs_sweepprof.readers.plain import reading_to_json
from mkdocs_sweepprof.redact import HOST, MASK, USER, Redactor, secret_field

DIGITS = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
"""Forty characters that look like a key; the keys of the tests are put together here, so that no scanner finds one."""
KEYS = {
    "Hugging Face": "hf_" + DIGITS[:34],
    "OpenAI": "sk-" + DIGITS,
    "GitHub": "ghp_" + DIGITS[:36],
    "GitHub, fine-grained": "github_pat_" + DIGITS,
    "GitLab": "glpat-" + DIGITS[:20],
    "Slack": "xoxb-" + "1234567890-" + DIGITS[:20],
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "Google": "AIza" + DIGITS[:35],
    "JWT": "eyJhbGciOiJIUzI1" + ".eyJzdWIiOiIxMjM0" + "." + DIGITS,
    "W&B local": "local-" + "0123456789abcdef" * 2 + "01234567",
}


def masked(config: dict[str, Any], **options: Any) -> dict[str, Any]:
    reading = Reading([Run("r", "native", config=config)])
    return Redactor(**options).reading(reading).runs[0].config


@pytest.mark.parametrize("kind", KEYS)
def test_keys_are_known_by_their_shape_wherever_they_stand(kind: str) -> None:
    key = KEYS[kind]
    texts = {
        "note": f"use {key} here",
        "cmd": f"python train.py --x={key}",
        "url": f"https://h/x?a=1&b={key}",
        "x": key,
    }
    for name, value in masked(texts).items():
        assert key not in value and MASK in value, (name, value)
    assert masked({"note": f"use {key} here"})["note"].startswith("use "), "what stands around it stays"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "db.password",
        "DB_PASSWORD",
        "smtpPasswd",
        "client_secret",
        "api_key",
        "apiKey",
        "wandb.api_key",
        "OPENAI_API_KEY",
        "aws_secret_access_key",
        "private_key",
        "auth_token",
        "credentials",
        "slack_webhook",
        "sentry_dsn",
    ],
)
def test_fields_are_known_by_their_name(name: str) -> None:
    assert masked({name: "hunter2 and more"}) == {name: MASK}


@pytest.mark.parametrize("name", ["hf_token", "token", "WANDB_API_TOKEN", "license_key", "github.pat"])
def test_a_token_or_key_is_a_secret_when_its_value_looks_like_one(name: str) -> None:
    assert masked({name: DIGITS}) == {name: MASK}
    assert masked({name: "<pad>"}) == {name: "<pad>"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("use_cls_token", True),
        ("num_tokens", 512),
        ("max_tokens", "512"),
        ("pad_token", "<pad>"),
        ("eos_token", "</s>"),
        ("bos_token_id", 1),
        ("tokenizer", "bert-base-uncased"),
        ("tokenizer.path", "org/tokenizer-v2"),
        ("token_weighted_reconstruction_weight", 0.5),
        ("monkey_patch", "attention_2023_v1_long"),
        ("key_dim", 64),
        ("num_key_value_heads", 8),
        ("key", "validation_loss_mean"),
        ("sort_key", "time"),
        ("git_commit", "0123456789abcdef0123456789abcdef01234567"),
        ("commit", "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"),
        ("git_sha", "0123456789abcdef"),
        ("passes", 3),
        ("author_year", "smith2020"),
        ("secretary_problem", None),
        ("dataset", "wikitext-103-raw-v1"),
        ("version", "1.2.3.4"),
        ("author", "A. Person"),
        ("ratio", "1:29500"),
        ("lr", 1e-4),
        ("password", ""),
        ("api_key", None),
        ("ip_adapter_scale", 0.5),
        ("host_batch_size", 32),
        ("user_embedding_dim", 16),
    ],
)
def test_harmless_fields_are_shown(name: str, value: Any) -> None:
    assert masked({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/jdoe42/data/x.pt", f"/home/{USER}/data/x.pt"),
        ("/Users/jdoe42/code", f"/Users/{USER}/code"),
        (r"C:\Users\jdoe42\code", rf"C:\Users\{USER}\code"),
        ("/scratch/jdoe42/runs", f"/scratch/{USER}/runs"),
        ("/scratch/shared/runs", "/scratch/shared/runs"),
        ("file:/home/jdoe42", f"file:/home/{USER}"),
    ],
)
def test_user_names_in_paths(path: str, shown: str) -> None:
    assert masked({"data_dir": path}) == {"data_dir": shown}


def test_a_name_learned_in_one_place_is_masked_in_all() -> None:
    run = Run(
        "jdoe42-exp1",
        "native",
        directory="runs/jdoe42-exp1",
        aliases=("jdoe42-exp1",),
        config={"out": "/home/jdoe42/x", "who": "by jdoe42", "tag": "notjdoe42at all"},
        sections=[Section("train/jdoe42", 1, 2.0)],
        events=[Event(1.0, "checkpoint", "saved by jdoe42")],
        files=("runs/jdoe42-exp1/config.yaml",),
        notes=("From jdoe42.",),
    )
    problem = Problem("runs/jdoe42-exp1/x", "jdoe42 did it.", "Ask jdoe42.", run="jdoe42-exp1")
    found = Redactor().reading(Reading([run], [problem], ["jdoe42's runs"]))
    text = json.dumps(reading_to_json(found), ensure_ascii=False)
    assert "notjdoe42at" in text, "a part of another word is none"
    assert "jdoe42" not in text.replace("notjdoe42at", "")


def test_hosts() -> None:
    config = {
        "hostname": "gpu-node-17",
        "MASTER_ADDR": "10.11.12.13",
        "slurm.nodelist": "gpu[01-04]",
        "note": "ran on gpu-node-17 and 192.168.7.9",
        "dist_url": "tcp://10.11.12.13:29500",
        "local": "http://127.0.0.1:8080",
    }
    found = masked(config)
    assert found["hostname"] == found["MASTER_ADDR"] == found["slurm.nodelist"] == HOST
    assert found["note"] == f"ran on {HOST} and {HOST}"
    assert "10.11.12.13" not in found["dist_url"]
    assert found["local"] == config["local"], "a loopback address says nothing"


def test_the_host_in_an_event_files_name() -> None:
    name = "runs/a/events.out.tfevents.1796100178.trainbox.6302.1"
    run = Run("a", "tensorboard", files=(name,), config={"x": "trainbox"})
    found = Redactor().reading(Reading([run])).runs[0]
    assert found.files == (f"runs/a/events.out.tfevents.1796100178.{HOST}.6302.1",)
    assert found.config["x"] == HOST


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:pw@host.example/x", f"https://{MASK}@host.example/x"),
        ("postgresql://me:p%40w@db/x", f"postgresql://{MASK}@db/x"),
        ("https://oauth2:abc@git.example/r.git", f"https://{MASK}@git.example/r.git"),
        ("https://h.example/x?token=abc&b=1", f"https://h.example/x?token={MASK}&b=1"),
        ("https://s3.example/x?X-Amz-Signature=abc#f", f"https://s3.example/x?X-Amz-Signature={MASK}#f"),
        ("https://h.example/x@2?page=1", "https://h.example/x@2?page=1"),
        ("mail me@host.example", "mail me@host.example"),
    ],
)
def test_url_logins(url: str, shown: str) -> None:
    assert masked({"uri": url}) == {"uri": shown}


def test_secrets_in_a_command_line() -> None:
    found = masked({"argv": f"train.py --password=hunter2 --api-key={DIGITS} --lr=0.1 MY_SECRET=abc"})["argv"]
    assert "hunter2" not in found and DIGITS not in found and "abc" not in found
    assert "--lr=0.1" in found and found.startswith("train.py --password=")


def test_options_publish_and_redact() -> None:
    config = {"model.hf_token": DIGITS, "hf_token": DIGITS, "budget": 1000, "cost.usd": 5}
    found = masked(config, publish=["model.*"], redact=["budget", "cost.*"])
    assert found == {"model.hf_token": DIGITS, "hf_token": MASK, "budget": MASK, "cost.usd": MASK}


def test_redact_outweighs_publish() -> None:
    assert masked({"a": "x"}, publish=["*"], redact=["a"]) == {"a": MASK}


def test_masking_is_idempotent_and_changes_nothing_passed_in() -> None:
    run = Run("r", "native", config={"password": "x", "p": "/home/jdoe42/a", "u": "https://a:b@c/"})
    reading = Reading([run])
    once = Redactor().reading(reading)
    assert run.config["password"] == "x"
    assert Redactor().reading(once) == once


def test_secret_field_speaks_of_the_last_part_of_a_name() -> None:
    assert secret_field("trainer.db.password", "x")
    assert not secret_field("password_policy.length", 8)
    assert not secret_field("", "x")
