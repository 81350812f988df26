#!/usr/bin/env python3
"""Signatures over a store and over a bundle, from the command line: what fits, and each thing that does not; and the
same signature checked by somebody else's program, from DSSE's definition and `openssl` alone.

usage: sign_test.py --reenact PROGRAM --make-store PROGRAM"""
import argparse
import base64
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    parser.add_argument("--make-store", required=True)
    return parser.parse_args()


class Signing:
    def __init__(self, reenact, make_store, folder):
        self.reenact, self.make_store, self.folder = reenact, make_store, pathlib.Path(folder)
        self.store = self.folder / "store"
        self.key = self.folder / "signing.key"
        self.public = self.folder / "signing.key.pub"

    def run(self, *words, code=0):
        done = subprocess.run([self.reenact, *map(str, words)], capture_output=True, text=True, cwd=self.folder,
                              timeout=60)
        text = done.stdout + done.stderr
        if done.returncode != code:
            sys.exit(f"reenact {' '.join(map(str, words))}: exit {done.returncode}, not {code}\n{text}")
        return text

    def expect(self, part, *words, code=0):
        text = self.run(*words, code=code)
        if part not in text:
            sys.exit(f"reenact {' '.join(map(str, words))} does not say {part!r}:\n{text}")

    def add_run(self, store, run):
        subprocess.run([self.make_store, run, store], check=True, timeout=60)

    def verify(self, path, part, code, *more):
        self.expect(part, "verify", path, "--public-key", self.public, *more, code=code)

    def copy(self, name):
        copy = self.folder / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.store, copy)
        return copy


def keys(test):
    text = test.run("keygen", test.key)
    assert "key id:" in text, text
    assert oct(test.key.stat().st_mode & 0o777) == "0o600", oct(test.key.stat().st_mode)
    test.expect("exists", "keygen", test.key, code=2)
    test.expect("holds a private key", "verify", test.store, "--public-key", test.key, code=2)
    test.expect("holds a public key", "sign", test.store, "--key", readable_copy(test.public), code=2)
    loose = test.folder / "loose.key"
    shutil.copy(test.key, loose)
    loose.chmod(0o644)
    test.expect("chmod 600", "sign", test.store, "--key", loose, code=2)


def readable_copy(path):
    private = path.with_suffix(".private")
    shutil.copy(path, private)
    private.chmod(0o600)
    return private


def passphrases(test):
    (test.folder / "words").write_text("correct horse\n")
    (test.folder / "other").write_text("battery staple\n")
    locked = test.folder / "locked.key"
    test.run("keygen", locked, "--passphrase-file", "words")
    assert "ENCRYPTED" in locked.read_text()
    test.expect("a passphrase is needed", "sign", test.store, "--key", locked, code=2)
    test.expect("another passphrase", "sign", test.store, "--key", locked, "--passphrase-file", "other", code=2)
    test.run("sign", test.store, "--key", locked, "--passphrase-file", "words", "--output", "locked.jsonl")


def a_store(test):
    test.verify(test.store, "there is none: no such file", 1)
    test.run("sign", test.store, "--key", test.key)
    test.verify(test.store, "manifest lines 1 to ", 0)
    # It grows, and the signature still fits what it was of.
    test.add_run(test.store, "broken")
    test.verify(test.store, "not signed: 1 line since", 0)
    test.run("sign", test.store, "--key", test.key)
    document = json.loads(test.run("--json", "verify", test.store, "--public-key", test.public))
    assert [s["signed_lines"] for s in document["signatures"]] == [2, 3], document
    # Somebody else's key.
    test.run("keygen", "other.key")
    test.expect("there is none by this key", "verify", test.store, "--public-key", "other.key.pub", code=1)
    # Another store's signature: its lines are others.
    other = test.folder / "other_store"
    test.add_run(other, "right,wrong")
    test.verify(other, "is of another store", 1, "--signature", test.store / "evidence.intoto.jsonl")
    # A damaged store is not signed.
    damaged = test.copy("damaged")
    segment = sorted(damaged.glob("segments/*.db"))[0]
    segment.chmod(0o600)
    segment.write_bytes(segment.read_bytes().replace(b"automatic", b"automatik"))
    segment.chmod(0o444)
    test.expect("nothing is signed", "sign", damaged, "--key", test.key, code=1)


def mac_line(key, fields):
    unsigned = json.dumps(fields, separators=(",", ":")).encode()
    mac = hmac.new(key, unsigned, hashlib.sha256).hexdigest()
    return unsigned[:-1] + b',"mac":"' + mac.encode() + b'"}\n'


def forged_with_the_stores_key(test):
    """Whoever has store.key can make a manifest that fits: only a signature shows it."""
    forged = test.copy("forged")
    key = (forged / "store.key").read_bytes()
    manifest = forged / "segments/manifest.jsonl"
    lines = [json.loads(line) for line in manifest.read_bytes().splitlines()]
    gone = lines.pop(0)
    (forged / "segments" / gone["segment"]).unlink()
    previous, text = "", b""
    for fields in lines:
        del fields["mac"]
        fields["previous"] = previous
        line = mac_line(key, fields)
        previous = json.loads(line)["mac"]
        text += line
    manifest.write_bytes(text)
    test.run("verify", forged)  # Nothing to be seen without the signature.
    test.verify(forged, "is of another store", 1)


def rolled_back(test):
    """The whole store as it was on an earlier day, its signatures too: a copy kept elsewhere shows it."""
    early = test.copy("early")
    test.add_run(test.store, "hostile")
    test.run("sign", test.store, "--key", test.key, "--output", "kept_elsewhere.jsonl")
    test.verify(early, "manifest lines 1 to 3", 0)
    test.verify(early, "lines were cut off, or the whole store is of an earlier day", 1, "--signature",
                "kept_elsewhere.jsonl")
    test.verify(test.store, "manifest lines 1 to 4", 0, "--signature", "kept_elsewhere.jsonl")


def a_bundle(test):
    bundle = test.folder / "refund.reenact"
    test.run("--store", test.store, "export", "last", "--out", bundle)
    test.run("sign", bundle, "--key", test.key)
    test.verify(bundle, "signed at ", 0)
    signature = test.folder / "refund.reenact.intoto.jsonl"
    test.verify(test.store, "is of a bundle, and this is a store", 1, "--signature", signature)
    test.verify(bundle, "is of a store, and this is a bundle", 1, "--signature", test.store / "evidence.intoto.jsonl")
    # The signature, changed.
    envelope = json.loads(signature.read_text())
    payload = base64.b64decode(envelope["payload"])
    envelope["payload"] = base64.b64encode(payload.replace(b"refund", b"Refund", 1)).decode()
    (test.folder / "changed.jsonl").write_text(json.dumps(envelope) + "\n")
    test.verify(bundle, "was changed", 1, "--signature", "changed.jsonl")
    (test.folder / "noise.jsonl").write_text("noise\n")
    test.verify(bundle, "is no signature envelope", 1, "--signature", "noise.jsonl")
    # The bundle, made anew with other content: it fits itself, and not the signature.
    test.run("--store", test.store, "export", "last", "--out", test.folder / "x.jsonl", "--format", "jsonl")
    edited = (test.folder / "x.jsonl").read_text().replace('"service":"', '"service":"x', 1)
    (test.folder / "x.jsonl").write_text(edited)
    test.run("--store", test.folder / "elsewhere", "import", "x.jsonl")
    bundle.unlink()
    test.run("--store", test.folder / "elsewhere", "export", "last", "--out", bundle)
    test.run("verify", bundle)
    test.verify(bundle, "these are not the bytes that were signed", 1)
    return signature, payload


def somebody_elses_program(test, signature, payload):
    """DSSE by its definition, Ed25519 by openssl."""
    if shutil.which("openssl") is None:
        print("skipped: no openssl to check a signature with")
        return
    envelope = json.loads(signature.read_text())
    kind = envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    (test.folder / "signed").write_bytes(signed)
    (test.folder / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(test.public), "-rawin", "-in", "signed",
               "-sigfile", "sig"]
    subprocess.run(command, cwd=test.folder, check=True, capture_output=True, timeout=60)
    (test.folder / "signed").write_bytes(signed + b" ")
    assert subprocess.run(command, cwd=test.folder, capture_output=True, timeout=60).returncode != 0
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1", statement
    assert statement["subject"][0]["name"] == "refund.reenact", statement
    # And the other way: a key that openssl made signs here.
    theirs = test.folder / "theirs.key"
    with open(theirs, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"], stdout=out, check=True, timeout=60)
    subprocess.run(["openssl", "pkey", "-in", theirs, "-pubout", "-out", test.folder / "theirs.pub"], check=True,
                   timeout=60)
    test.run("sign", test.store, "--key", theirs, "--output", "theirs.jsonl")
    test.run("verify", test.store, "--public-key", "theirs.pub", "--signature", "theirs.jsonl")


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        test = Signing(arguments.reenact, arguments.make_store, folder)
        test.add_run(test.store, "right,wrong")
        keys(test)
        passphrases(test)
        a_store(test)
        forged_with_the_stores_key(test)
        rolled_back(test)
        signature, payload = a_bundle(test)
        somebody_elses_program(test, signature, payload)
    print("signatures: what fits is accepted, what does not is named")


if __name__ == "__main__":
    main()
