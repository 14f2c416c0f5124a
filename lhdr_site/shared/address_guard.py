"""Fetching addresses that people wrote down, without letting them reach what only this machine can.

A host is resolved once, every address it has is checked, and the checked address is the one that is connected, under
the right Host and TLS name: a name that resolves differently a moment later changes nothing. Redirects are followed by
hand and checked in the same way. Imports no Django and no app; who calls brings the setting of what is allowed besides.
"""

import ipaddress
import re
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Sequence[str]]

USER_AGENT: Final = "LHDR-Workbench (fetches pictures and checks links that people put into items)"
PORTS: Final = {"http": 80, "https": 443}
_CHUNK: Final = 1 << 16
# Beside what `ipaddress` calls not global: relays and translators, behind which anything may stand.
_NOT_PUBLIC: Final = [
    ipaddress.ip_network(text)
    for text in ("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/3",
                 "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
]  # fmt: skip
_PUBLIC_V6: Final = ipaddress.ip_network("2000::/3")  # so no mapped, translated, local, unique local or multicast ones


class FetchError(Exception):
    """An address that was not fetched. `code` for programs: bad_url, not_public, unknown_host, no_connection, timeout,
    too_many_redirects, too_large, wrong_type, broken. The message is a sentence for people.
    """

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address answered. Header names are in small letters; the body is decompressed."""

    status: int
    final_url: str
    redirects: tuple[str, ...]  # the addresses that led there, in order
    headers: Mapping[str, str]
    body: bytes
    truncated: bool  # there was more than max_bytes

    @property
    def content_type(self) -> str:
        """The media type alone, in small letters."""
        return self.headers.get("content-type", "").split(";")[0].strip().lower()


def is_public(address: Address) -> bool:
    """Whether an address belongs to the open Internet: not private, loopback, link-local (cloud metadata), multicast,
    reserved, nor a mapped, tunnelled or translated form of any address.
    """
    if isinstance(address, ipaddress.IPv6Address) and address not in _PUBLIC_V6:
        return False
    return address.is_global and not any(address in net for net in _NOT_PUBLIC if net.version == address.version)


def read_allowed(texts: Sequence[str]) -> list[Network]:
    """Addresses and networks as in the setting. Raises ValueError naming the one that is none."""
    return [ipaddress.ip_network(text.strip(), strict=False) for text in texts if text.strip()]


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, each once. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class _Place:
    """A URL taken apart, as it will be asked for."""

    scheme: str
    host: str  # in ASCII, an IPv6 address without brackets
    port: int
    target: str  # path and query
    url: str  # whole, without fragment


def _read_url(url: str) -> _Place:
    """Raises FetchError (bad_url) for what may not be asked for."""

    def bad(text: str) -> FetchError:
        return FetchError("bad_url", text)

    url = url.strip()
    if len(url) > 4000 or re.search(r"[\x00-\x1f\x7f\\\ud800-\udfff]", url):
        raise bad("The address is too long or holds characters that no address has.")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise bad("The address cannot be read.") from None
    if parts.scheme not in PORTS:
        raise bad("Only addresses with http:// or https:// are fetched.")
    if "@" in parts.netloc:
        raise bad("The address holds a user name or password; take it out.")
    if ":" not in host:
        try:
            host = host.encode("idna").decode("ascii").lower().rstrip(".")
        except UnicodeError:
            raise bad("The host name is none.") from None
        if not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", host):
            raise bad("The host name is none.")
        # 2130706433, 0x7f.1 and 0177.0.0.1 are other ways to write 127.0.0.1
        last = host.rsplit(".", 1)[-1]
        if re.fullmatch(r"\d+|0x[0-9a-f]*", last) and not _is_plain_v4(host):
            raise bad("The host is a number in an unusual form; write it as four decimal numbers.")
    elif "%" in host:
        raise bad("The address names a network card of this machine.")
    port = PORTS[parts.scheme] if port is None else port
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        target += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~-._[]")
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if port == PORTS[parts.scheme] else f"{shown}:{port}"
    path, _mark, query = target.partition("?")
    return _Place(parts.scheme, host, port, target, urlunsplit((parts.scheme, netloc, path, query, "")))


def _is_plain_v4(host: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False


def checked_addresses(
    host: str, port: int, *, allow: Sequence[Network] = (), resolver: Resolver = resolve, timeout: float = 10
) -> list[str]:
    """Every address of a host, if all of them may be connected on that port. Raises FetchError.

    allow: networks that may be reached although they are not public, on any port.
    """
    try:
        addresses = [ipaddress.ip_address(text) for text in _in_time(lambda: resolver(host, port), timeout)]
    except (OSError, UnicodeError, ValueError):
        raise FetchError("unknown_host", f"There is no host {host}.") from None
    if not addresses:
        raise FetchError("unknown_host", f"There is no host {host}.")
    allowed = [any(address in net for net in allow if net.version == address.version) for address in addresses]
    if not all(ok or is_public(address) for ok, address in zip(allowed, addresses, strict=True)):
        raise FetchError("not_public", f"{host} is not on the open Internet; such addresses are not fetched.")
    if port not in PORTS.values() and not all(allowed):
        raise FetchError("not_public", f"Port {port} is none of the web (80, 443); such addresses are not fetched.")
    return [str(address) for address in addresses]


def _in_time(work: Callable[[], Sequence[str]], timeout: float) -> Sequence[str]:
    """What `work` returns; a resolver has no time limit of its own."""
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(work())
        except Exception as error:
            result.append(error)

    thread = threading.Thread(target=run, daemon=True, name="resolve")
    thread.start()
    thread.join(max(timeout, 0))
    if not result:
        raise FetchError("timeout", "The host name was not resolved in time.")
    if isinstance(result[0], Exception):
        raise result[0]
    return result[0]


class _Line:
    """The socket of one request, so that its deadline can end it whatever it waits for."""

    def __init__(self, address: str):
        self.address = address
        self.sock: socket.socket | None = None
        self.late = False

    def open(self, port: int, timeout: float) -> socket.socket:
        self.sock = socket.create_connection((self.address, port), timeout=timeout)
        return self.sock

    def end(self) -> None:
        self.late = True
        if self.sock is not None:
            try:
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
            except OSError:
                pass  # already gone


def _pool(place: _Place, line: _Line, connect_timeout: float) -> urllib3.HTTPConnectionPool:
    """A pool for one request whose connection goes to the checked address, under the host's own name."""

    class Pinned:
        def _new_conn(self) -> socket.socket:
            try:
                return line.open(place.port, connect_timeout)
            except TimeoutError as error:
                raise urllib3.exceptions.ConnectTimeoutError(self, "too slow") from error
            except OSError as error:
                raise urllib3.exceptions.NewConnectionError(self, str(error)) from error  # type: ignore[arg-type]

    class Plain(Pinned, HTTPConnection):
        pass

    class Secure(Pinned, HTTPSConnection):
        pass

    kind = urllib3.HTTPSConnectionPool if place.scheme == "https" else urllib3.HTTPConnectionPool
    pool = kind(place.host, place.port, retries=False)
    pool.ConnectionCls = Secure if place.scheme == "https" else Plain
    return pool


def fetch(
    url: str,
    *,
    method: str = "GET",
    max_bytes: int = 5 * 1024 * 1024,
    whole: bool = False,
    content_types: Sequence[str] = (),
    connect_timeout: float = 10,
    read_timeout: float = 20,
    timeout: float = 60,
    max_redirects: int = 5,
    allow: Sequence[Network] = (),
    resolver: Resolver = resolve,
    headers: Mapping[str, str] | None = None,
    before_redirect: Callable[[str], None] = lambda url: None,
) -> Fetched:
    """Ask for an address with GET or HEAD. Raises FetchError, and nothing else, when there is no answer to show.

    An answer with any status is returned. At most max_bytes of the body are read, compressed or not; whole: more is
    an error (too_large). content_types: a good answer of another type is an error (wrong_type) and its body unread.
    Times in seconds: to connect, the longest silence, and everything with all redirects. before_redirect is called
    with each address that is about to be followed, and may raise FetchError.
    """
    deadline = time.monotonic() + timeout
    redirects: list[str] = []
    place = _read_url(url)
    while True:
        left = deadline - time.monotonic()
        addresses = checked_addresses(place.host, place.port, allow=allow, resolver=resolver, timeout=left)
        answer = _ask(place, addresses, method, deadline, connect_timeout, read_timeout, headers or {},
                      max_bytes=max_bytes, whole=whole, content_types=content_types)  # fmt: skip
        target = answer.headers.get("location", "")
        if answer.status not in (301, 302, 303, 307, 308) or not target:
            return Fetched(answer.status, place.url, tuple(redirects), answer.headers, answer.body, answer.truncated)
        redirects.append(place.url)
        place = _read_url(urljoin(place.url, target))
        if len(redirects) > max_redirects or place.url in redirects:
            raise FetchError("too_many_redirects", "The address leads from one to the next without end.")
        before_redirect(place.url)
        if answer.status == 303 and method != "HEAD":
            method = "GET"


def _ask(
    place: _Place,
    addresses: Sequence[str],
    method: str,
    deadline: float,
    connect_timeout: float,
    read_timeout: float,
    headers: Mapping[str, str],
    **limits: Any,
) -> Fetched:
    """One request, to the first of the addresses that takes the connection."""
    for number, address in enumerate(addresses):
        line = _Line(address)
        left = deadline - time.monotonic()
        timer = threading.Timer(max(left, 0), line.end)
        timer.daemon = True
        timer.start()
        pool = _pool(place, line, min(connect_timeout, max(left, 0.01)))
        try:
            response = pool.urlopen(
                method,
                place.target,
                headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip", "Accept": "*/*", **headers},
                timeout=urllib3.Timeout(connect=connect_timeout, read=read_timeout),
                retries=False,
                redirect=False,
                assert_same_host=False,
                preload_content=False,
                decode_content=False,
            )
            try:
                found = _read(place, method, response, deadline, **limits)
            finally:
                response.close()
            if line.late:
                raise _too_slow()
            return found
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            if line.late or time.monotonic() > deadline:
                raise _too_slow() from error
            if isinstance(error, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError) and (
                number + 1 < len(addresses)
            ):
                continue
            raise _failure(place, error) from error
        finally:
            timer.cancel()
            pool.close()
    raise FetchError("no_connection", f"{place.host} takes no connection.")


def _too_slow() -> FetchError:
    return FetchError("timeout", "The answer took too long.")


def _failure(place: _Place, error: Exception) -> FetchError:
    if isinstance(error, urllib3.exceptions.NewConnectionError):
        return FetchError("no_connection", f"{place.host} takes no connection.")
    if isinstance(error, urllib3.exceptions.TimeoutError | TimeoutError):
        return FetchError("timeout", f"{place.host} did not answer in time.")
    if isinstance(error, urllib3.exceptions.SSLError):
        return FetchError("no_connection", f"{place.host} does not prove by its certificate that it is that host.")
    return FetchError("broken", "The answer broke off or cannot be read.")


def _read(
    place: _Place,
    method: str,
    response: urllib3.BaseHTTPResponse,
    deadline: float,
    *,
    max_bytes: int,
    whole: bool,
    content_types: Sequence[str],
) -> Fetched:
    names = {name.lower(): value for name, value in response.headers.items()}
    empty = Fetched(response.status, place.url, (), names, b"", False)
    if method == "HEAD" or 300 <= response.status < 400:
        return empty
    if content_types and 200 <= response.status < 300 and empty.content_type not in content_types:
        kind = empty.content_type[:60] or "nothing said"
        raise FetchError("wrong_type", f"The address holds something else than was looked for: {kind}.")
    body = bytearray()
    for piece in _pieces(response, names.get("content-encoding", "").strip().lower(), max_bytes):
        body += piece
        if time.monotonic() > deadline:
            raise TimeoutError
        if len(body) > max_bytes:
            if whole:
                raise FetchError("too_large", f"The answer is larger than {max_bytes / 1024 / 1024:.1f} MB.")
            return Fetched(response.status, place.url, (), names, bytes(body[:max_bytes]), True)
    return Fetched(response.status, place.url, (), names, bytes(body), False)


def _pieces(response: urllib3.BaseHTTPResponse, encoding: str, max_bytes: int) -> Iterator[bytes]:
    """The body, decompressed a little at a time: never more in memory than max_bytes and a piece."""
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise FetchError("broken", f"The answer is compressed in a way that was not asked for: {encoding[:40]}.")
    inflate = zlib.decompressobj(47) if encoding not in ("", "identity") else None
    while chunk := response.read1(_CHUNK, decode_content=False):
        if inflate is None:
            yield chunk
            continue
        while chunk:
            try:
                yield inflate.decompress(chunk, _CHUNK)
            except zlib.error as error:
                raise ValueError("not compressed as it says") from error
            chunk = inflate.unconsumed_tail
        if inflate.eof:
            return
    if inflate is not None:
        raise ValueError("broke off")
