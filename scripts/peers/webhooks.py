"""Receives what Checkrein sends with software of others: Standard Webhooks, CloudEvents, SMTP.

usage: webhooks.py CHECKREIN

Drives the program in a directory of its own, and fails where a signature, an event or a letter is not what the
official package takes.
"""

import asyncio
import email
import email.policy
import http.server
import json
import os
import queue
import ssl
import subprocess
import sys
import tempfile
import threading

from aiosmtpd.smtp import SMTP
from cloudevents.core.bindings.http import HTTPMessage, from_structured_event
from standardwebhooks import Webhook, WebhookVerificationError

received = queue.Queue()
letters = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        received.put(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Letterbox:
    async def handle_DATA(self, _server, _session, envelope):
        letters.put(envelope)
        return "250 taken"


def main():
    program = os.path.abspath(sys.argv[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    mail_port = start_mail_server()
    with tempfile.TemporaryDirectory() as directory:
        environment = {"PATH": os.environ["PATH"], "HOME": directory, "CHECKREIN_STORE": "store.db"}

        def checkrein(*arguments, code=0):
            ran = subprocess.run(
                [program, *arguments], cwd=directory, env=environment, capture_output=True, text=True, timeout=60
            )
            assert ran.returncode == code, f"{arguments}: {ran.returncode} {ran.stdout} {ran.stderr}"
            return json.loads(ran.stdout) if "--json" in arguments else ran.stdout

        url = f"http://127.0.0.1:{server.server_port}/"
        webhook = checkrein("webhook", "add", url, "--allow-private", "--json")
        mail = f"smtp://127.0.0.1:{mail_port}/?from=rein@example.com&to=ann@example.com"
        checkrein("webhook", "add", mail, "--allow-private")
        secrets = [webhook["secret"], checkrein("webhook", "rotate", webhook["id"], "--json")["secret"]]

        deliverable = "Grüße ✓\nthe second line"
        create = ["checkpoint", "create", "--worker", "writer", "--phase", "draft", "--id", "c1"]
        checkrein(*create, "--deliverable", deliverable, code=3)
        checkrein("worker", "--once", "--public-url", "https://rein.example")
        headers, body = received.get(timeout=10)
        check_signature(headers, body, secrets)
        check_event(headers, body, deliverable)
        check_letter(letters.get(timeout=10))

        # Encrypted, and only where the certificate is known.
        certificate = make_certificate(directory)
        encrypted = start_encrypted(certificate)
        added = checkrein("webhook", "add", f"https://localhost:{encrypted}/", "--allow-private", "--json")
        unknown = checkrein("webhook", "test", added["id"], "--json", code=1)
        assert "certificate" in unknown["answer"], unknown
        environment["SSL_CERT_FILE"] = certificate[0]
        checkrein("webhook", "test", added["id"])
        check_signature(*received.get(timeout=10), [added["secret"]])

        mail = f"smtps://localhost:{start_mail_server(certificate)}/?from=rein@example.com&to=ann@example.com"
        added = checkrein("webhook", "add", mail, "--allow-private", "--json")
        checkrein("webhook", "test", added["id"])
        assert letters.get(timeout=10).rcpt_tos == ["ann@example.com"]
        del environment["SSL_CERT_FILE"]
        checkrein("webhook", "test", added["id"], code=1)
        assert letters.empty(), "a letter went where nobody is known"
    print("a signed event and a letter arrived, and are what others take")


def make_certificate(directory):
    """A certificate of this machine that nobody knows, and its key."""
    certificate, key = os.path.join(directory, "certificate.pem"), os.path.join(directory, "key.pem")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    extensions = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]
    files = ["-keyout", key, "-out", certificate]
    subprocess.run([*command.split(), *extensions, *files], check=True, capture_output=True)
    return certificate, key


def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def start_encrypted(certificate):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.socket = tls(certificate).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def start_mail_server(certificate=None):
    loop = asyncio.new_event_loop()
    context = tls(certificate) if certificate else None
    opening = loop.create_server(lambda: SMTP(Letterbox(), loop=loop), "127.0.0.1", 0, ssl=context)
    server = loop.run_until_complete(opening)
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return server.sockets[0].getsockname()[1]


def check_signature(headers, body, secrets):
    for secret in secrets:
        Webhook(secret).verify(body, headers)
    forged = [
        (body + b" ", headers, secrets[0]),
        (body, {**headers, "webhook-id": "msg_other"}, secrets[0]),
        (body, {**headers, "webhook-timestamp": "1600000000"}, secrets[0]),
        (body, headers, "whsec_" + "A" * 43 + "="),
    ]
    for data, claimed, secret in forged:
        try:
            Webhook(secret).verify(data, claimed)
        except WebhookVerificationError:
            continue
        raise AssertionError(f"a forged one was taken: {claimed}")


def check_event(headers, body, deliverable):
    event = from_structured_event(HTTPMessage(headers=headers, body=body))
    assert event.get_specversion() == "1.0", event.get_specversion()
    assert event.get_id() == headers["webhook-id"], event.get_id()
    assert event.get_type() == "checkpoint.created", event.get_type()
    assert event.get_source() == "https://rein.example", event.get_source()
    assert event.get_subject() == "c1", event.get_subject()
    assert event.get_time() is not None
    data = event.get_data()
    assert data["excerpt"] == deliverable, data
    assert data["url"] == "https://rein.example/checkpoints/c1", data


def check_letter(envelope):
    assert envelope.rcpt_tos == ["ann@example.com"], envelope.rcpt_tos
    letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert not letter.defects, letter.defects
    assert letter["subject"] == "[checkrein] writer waits for an answer: deliverable in draft", letter["subject"]
    text = letter.get_body().get_content()
    assert "> Grüße ✓" in text and "https://rein.example/checkpoints/c1" in text, text


main()
