"""Fetching strange addresses: what is refused, that the checked address is the connected one, and every limit."""

import gzip
import http.server
import ipaddress
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lhdr_site.shared import address_guard
from lhdr_site.shared.address_guard import Fetched, FetchError, fetch, is_public, read_allowed

HERE = read_allowed(["127.0.0.1"])
PICTURE = b"\x89PNG a picture"
BOMB = gzip.compress(b"\0" * 30_000_000, 1)


class Server:
    """A local server; `seen` is what was asked of it: (method, path, host, user agent)."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.seen: list[tuple[str, str, str, str]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append((self.command, self.path, self.headers["Host"], self.headers["User-Agent"]))
                try:
                    outer.answer(self)
                except OSError:
                    pass  # the other side hung up

            do_HEAD = do_GET

            def log_message(self, *args: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        if context:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        path = handler.path.split("?")[0]

        def send(status: int, body: bytes = b"", **headers: str) -> None:
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(body)

        if path == "/picture":
            send(200, PICTURE, Content_Type="image/png; charset=x")
        elif path.startswith("/to/"):
            send(302, Location=handler.path.split("/to/", 1)[1])
        elif path == "/loop":
            send(302, Location="/loop2")
        elif path == "/loop2":
            send(302, Location="/loop")
        elif path == "/on":  # ever on, never the same address
            send(302, Location=f"/on?{time.monotonic_ns()}")
        elif path == "/huge":
            handler.send_response(200)
            handler.end_headers()
            for _n in range(10_000):
                handler.wfile.write(b"x" * 65_536)
        elif path == "/bomb":
            send(200, BOMB, Content_Encoding="gzip")
        elif path == "/text":
            send(200, gzip.compress(b"hello " * 1000), Content_Encoding="gzip", Content_Type="text/plain")
        elif path == "/cut":
            send(200, gzip.compress(b"hello " * 1000)[:-20], Content_Encoding="gzip")
        elif path == "/brotli":
            send(200, b"??", Content_Encoding="br")
        elif path == "/drip":  # a byte now and then: never silent for long
            handler.send_response(200)
            handler.end_headers()
            for _n in range(200):
                handler.wfile.write(b"x")
                time.sleep(0.05)
        elif path == "/dripping-head":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for n in range(200):
                handler.wfile.write(b"X-%d: y\r\n" % n)
                time.sleep(0.05)
        elif path == "/silent":
            time.sleep(3)
        else:
            send(404, b"no")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()


@pytest.fixture
def get(server: Server) -> Callable[..., Fetched]:
    """get("/path", **options): asks the server as pictures.test, which is 127.0.0.1 and allowed."""

    def ask(path: str, **options: Any) -> Fetched:
        options = {"allow": HERE, "resolver": lambda host, port: ["127.0.0.1"], "timeout": 5} | options
        return fetch(f"http://pictures.test:{server.port}{path}", **options)

    server.seen.clear()
    return ask


def code_of(act: Callable[[], object]) -> str:
    with pytest.raises(FetchError) as caught:
        act()
    assert str(caught.value).endswith(".")
    return caught.value.code


# --- addresses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "192.0.0.8", "192.88.99.1", "198.18.0.1", "203.0.113.5", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::8.8.8.8", "64:ff9b::7f00:1",
        "64:ff9b::808:808", "64:ff9b:1::1", "fd00:ec2::254", "fc00::1", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1",
        "2001::1", "2002:7f00:1::", "100::1", "3fff::1",
    ],
)  # fmt: skip
def test_address_that_is_not_of_the_open_internet_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    assert code_of(lambda: fetch("http://inside.test/", resolver=lambda *_: [address])) == "not_public"


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "198.51.101.1", "2606:4700::1111", "2a00:1450::1"])
def test_address_of_the_open_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "", "/etc/passwd", "file:///etc/passwd", "ftp://example.org/x", "gopher://example.org/", "javascript:alert(1)",
        "data:text/plain,x", "http://", "http:///x", "http://user@example.org/", "http://user:word@example.org/",
        "http://example.org@127.0.0.1/", "http://example.org\\@127.0.0.1/", "http://example.org:99999/",
        "http://example.org:x/", "http://[::1", "http://[fe80::1%25eth0]/", "http://2130706433/", "http://0x7f000001/",
        "http://0177.0.0.1/", "http://127.1/", "http://0x7f.1/", "http://1.2.3.4.5/", "http://exa mple.org/",
        "http://example.org/a\nb", "http://example.org/\x00", "http://ex%61mple.org/", "http://-..example/",
        "http://" + "a" * 64 + ".org/", "http://example.org/" + "a" * 5000,
    ],
)  # fmt: skip
def test_address_in_a_form_that_is_not_fetched_is_refused_before_any_look_up(url: str) -> None:
    def never(host: str, port: int) -> list[str]:
        raise AssertionError(f"looked up {host}")

    assert code_of(lambda: fetch(url, resolver=never)) == "bad_url"


def test_international_names_and_paths_are_asked_for_in_ascii(get: Callable[..., Fetched], server: Server) -> None:
    looked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        looked.append(host)
        return ["127.0.0.1"]

    found = fetch(f"http://Bücher.test:{server.port}/Straße/a b?q=ü#part", allow=HERE, resolver=resolver)
    assert found.status == 404 and looked == ["xn--bcher-kva.test"]
    assert server.seen[0][1:3] == ("/Stra%C3%9Fe/a%20b?q=%C3%BC", f"xn--bcher-kva.test:{server.port}")
    # full-width dots are dots
    assert code_of(lambda: fetch("http://127。0。0。1/", resolver=lambda *_: ["127.0.0.1"])) == "not_public"


@pytest.mark.parametrize("port", [22, 25, 8080, 6379])
def test_other_ports_than_those_of_the_web_are_refused(port: int) -> None:
    assert code_of(lambda: fetch(f"http://example.org:{port}/", resolver=lambda *_: ["93.184.216.34"])) == "not_public"


def test_one_private_address_among_public_ones_refuses_the_host() -> None:
    both = ["93.184.216.34", "10.0.0.1"]
    assert code_of(lambda: fetch("http://two.test/", resolver=lambda *_: both)) == "not_public"


@pytest.mark.parametrize("answer", [[], OSError("no such host"), ["nonsense"]])
def test_unknown_host_says_so(answer: Any) -> None:
    def resolver(host: str, port: int) -> list[str]:
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    assert code_of(lambda: fetch("http://nowhere.test/", resolver=resolver)) == "unknown_host"


def test_slow_resolver_is_not_waited_for() -> None:
    def resolver(host: str, port: int) -> list[str]:
        time.sleep(2)
        return ["93.184.216.34"]

    start = time.monotonic()
    assert code_of(lambda: fetch("http://slow.test/", resolver=resolver, timeout=0.2)) == "timeout"
    assert time.monotonic() - start < 1


def test_name_that_turns_private_after_the_check_is_connected_where_it_was_checked(monkeypatch: Any) -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]])
    connected: list[tuple[str, int]] = []

    def create_connection(address: tuple[str, int], timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(address_guard.socket, "create_connection", create_connection)
    assert code_of(lambda: fetch("http://rebind.test/", resolver=lambda *_: next(answers))) == "no_connection"
    assert connected == [("93.184.216.34", 80)]


def test_allowed_addresses_are_those_of_the_setting_alone(server: Server) -> None:
    def ask(allow: list[str]) -> Fetched:
        return fetch(
            f"http://x.test:{server.port}/picture", allow=read_allowed(allow), resolver=lambda *_: ["127.0.0.1"]
        )

    assert ask(["127.0.0.0/8"]).status == 200
    for other in ([], ["10.0.0.0/8"], ["::1"], [" "]):
        assert code_of(lambda allow=other: ask(allow)) == "not_public"  # type: ignore[misc]
    with pytest.raises(ValueError, match="localhost"):
        read_allowed(["localhost"])


# --- answers ------------------------------------------------------------------------------------------------------


def test_get_brings_body_type_and_an_honest_name(get: Callable[..., Fetched], server: Server) -> None:
    found = get("/picture#part", content_types=["image/png"], whole=True)
    assert (found.status, found.body, found.content_type) == (200, PICTURE, "image/png")
    assert (found.redirects, found.truncated) == ((), False)
    assert server.seen == [("GET", "/picture", f"pictures.test:{server.port}", address_guard.USER_AGENT)]
    assert "LHDR" in address_guard.USER_AGENT


def test_head_brings_no_body(get: Callable[..., Fetched], server: Server) -> None:
    found = get("/to//picture", method="HEAD")
    assert (found.status, found.body, found.headers["content-length"]) == (200, b"", str(len(PICTURE)))
    assert [method for method, *_ in server.seen] == ["HEAD", "HEAD"]


def test_gzip_is_undone_and_a_bomb_is_cut_off(get: Callable[..., Fetched]) -> None:
    assert get("/text").body == b"hello " * 1000
    found = get("/bomb", max_bytes=100_000)
    assert (len(found.body), found.truncated) == (100_000, True)
    assert code_of(lambda: get("/bomb", max_bytes=100_000, whole=True)) == "too_large"
    assert code_of(lambda: get("/cut")) == "broken"
    assert code_of(lambda: get("/brotli")) == "broken"


def test_huge_body_is_read_to_the_limit_only(get: Callable[..., Fetched]) -> None:
    found = get("/huge", max_bytes=1_000_000)
    assert (len(found.body), found.truncated) == (1_000_000, True)
    assert code_of(lambda: get("/huge", max_bytes=1_000_000, whole=True)) == "too_large"


@pytest.mark.parametrize("path", ["/drip", "/dripping-head", "/silent"])
def test_slow_answer_ends_in_time(get: Callable[..., Fetched], path: str) -> None:
    start = time.monotonic()
    assert code_of(lambda: get(path, timeout=0.4)) == "timeout"
    assert time.monotonic() - start < 2


def test_silence_ends_after_the_read_timeout(get: Callable[..., Fetched]) -> None:
    assert code_of(lambda: get("/silent", read_timeout=0.2)) == "timeout"


def test_wrong_type_is_refused_unread(get: Callable[..., Fetched]) -> None:
    assert code_of(lambda: get("/text", content_types=["image/png", "image/jpeg"])) == "wrong_type"
    assert get("/missing", content_types=["image/png"]).status == 404


def test_nobody_listening_is_no_connection() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert code_of(lambda: fetch(f"http://x.test:{port}/", allow=HERE, resolver=lambda *_: ["127.0.0.1"])) == (
        "no_connection"
    )


# --- redirects ----------------------------------------------------------------------------------------------------


def test_redirects_are_followed_and_named(get: Callable[..., Fetched], server: Server) -> None:
    found = get("/to//to//picture")
    base = f"http://pictures.test:{server.port}"
    assert (found.status, found.final_url) == (200, f"{base}/picture")
    assert found.redirects == (f"{base}/to//to//picture", f"{base}/to//picture")


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://inside.test/", "not_public"),
        ("http://169.254.169.254/latest/meta-data/", "not_public"),
        ("http://six.test/", "not_public"),
        ("//10.0.0.1/", "not_public"),
        ("http://example.org:22/", "not_public"),
        ("file:///etc/passwd", "bad_url"),
        ("ftp://example.org/", "bad_url"),
        ("http://user@example.org/", "bad_url"),
    ],
)
def test_redirect_to_where_one_may_not_go_is_refused(get: Callable[..., Fetched], target: str, code: str) -> None:
    def resolver(host: str, port: int) -> list[str]:
        known = {"pictures.test": "127.0.0.1", "inside.test": "10.1.2.3", "example.org": "93.184.216.34"}
        return [known.get(host, "::1" if host == "six.test" else host)]

    assert code_of(lambda: get(f"/to/{target}", resolver=resolver)) == code


def test_every_redirect_is_looked_up_anew(get: Callable[..., Fetched]) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    assert code_of(lambda: get("/to//picture", resolver=lambda *_: next(answers))) == "not_public"


def test_redirects_without_end_are_left(get: Callable[..., Fetched], server: Server) -> None:
    assert code_of(lambda: get("/loop")) == "too_many_redirects"
    assert len(server.seen) == 2
    assert code_of(lambda: get("/on", max_redirects=3)) == "too_many_redirects"
    assert len(server.seen) == 6


# --- TLS ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secure(tmp_path_factory: Any) -> Iterator[tuple[Server, Path]]:
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing")
    folder = tmp_path_factory.mktemp("tls")
    names = "-subj /CN=pictures.test -addext subjectAltName=DNS:pictures.test"
    command = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 {names}"
    subprocess.run(
        [*command.split(), "-keyout", folder / "key", "-out", folder / "cert"], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    server = Server(context)
    yield server, folder / "cert"
    server.http.shutdown()


def test_https_goes_to_the_checked_address_under_the_hosts_name(secure: tuple[Server, Path], monkeypatch: Any) -> None:
    server, certificate = secure

    def ask(host: str) -> Fetched:
        return fetch(f"https://{host}:{server.port}/picture", allow=HERE, resolver=lambda *_: ["127.0.0.1"])

    assert code_of(lambda: ask("pictures.test")) == "no_connection"  # nobody vouches for it
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert ask("pictures.test").body == PICTURE
    assert code_of(lambda: ask("other.test")) == "no_connection"  # the certificate is for another host
