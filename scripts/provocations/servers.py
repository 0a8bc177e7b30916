# SPDX-License-Identifier: MIT
"""Local servers that fail on purpose: the path of a request (or the port) selects the failure."""
import socket
import ssl
import struct
import subprocess
import threading
import time

JSON = "application/json"
# Path: status line, headers, body.
ANSWERS = {
    "/v1/chat": ("429 Too Many Requests", {"Content-Type": JSON, "Retry-After": "17"}, '{"error":{"code":"rate_limit","message":"Slow down: 61 calls in the last minute, 60 allowed. Next slot in 17s."}}'),
    "/v1/usage": ("402 Payment Required", {"Content-Type": JSON}, '{"error":{"type":"billing","message":"Your prepaid balance is 0.00 EUR. Top up to go on."}}'),
    "/v1/month": ("429 Too Many Requests", {"Content-Type": JSON}, '{"detail":"Monthly allowance of 10000 lookups is spent. It renews on 2026-12-01."}'),
    "/v1/orders": ("401 Unauthorized", {"WWW-Authenticate": 'Bearer realm="orders"', "Content-Type": JSON}, '{"message":"token signature does not verify"}'),
    "/v1/admin": ("403 Forbidden", {"Content-Type": JSON}, '{"title":"Forbidden","detail":"role viewer may not write to /v1/admin"}'),
    "/v1/geo": ("451 Unavailable For Legal Reasons", {"Content-Type": "text/plain"}, "This feed is not offered in your country.\n"),
    "/v1/summarise": ("404 Not Found", {"Content-Type": JSON}, '{"detail":"no route POST /v1/summarise"}'),
    "/v1/put": ("405 Method Not Allowed", {"Allow": "GET, HEAD", "Content-Type": "text/plain"}, "PUT is not offered here\n"),
    "/v1/stream": ("501 Not Implemented", {"Content-Type": "text/plain"}, "streaming is not implemented by this gateway\n"),
    "/v1/wait": ("408 Request Timeout", {"Content-Type": "text/plain"}, "no complete request within 20 s\n"),
    "/v1/upload": ("413 Content Too Large", {"Content-Type": JSON}, '{"error":"the prompt has 91344 tokens, this model reads 32768"}'),
    "/v1/long": ("414 URI Too Long", {"Content-Type": "text/plain"}, "the query is longer than 8192 bytes\n"),
    "/v1/fields": ("422 Unprocessable Entity", {"Content-Type": JSON}, '{"detail":[{"loc":["body","amount"],"msg":"value is not a valid integer","type":"type_error.integer"}]}'),
    "/v1/form": ("400 Bad Request", {"Content-Type": JSON}, '{"error":"body is not JSON: expected , or } at byte 41"}'),
    "/v1/media": ("415 Unsupported Media Type", {"Content-Type": "text/plain"}, "send application/json, not text/csv\n"),
    "/v1/seat": ("409 Conflict", {"Content-Type": JSON}, '{"code":"SEAT_TAKEN","message":"12C was sold while you were choosing"}'),
    "/v1/card": ("402 Payment Required", {"Content-Type": JSON}, '{"decline_code":"do_not_honor","message":"The bank declined the card ending 4402."}'),
    "/v1/customer/77": ("404 Not Found", {"Content-Type": JSON}, '{"message":"customer 77 was not found"}'),
    "/v1/old": ("410 Gone", {"Content-Type": "text/plain"}, "This invoice was deleted on request of its owner.\n"),
    "/v1/broken": ("500 Internal Server Error", {"Content-Type": "text/plain"}, "Something broke on our side. Reference 8fd1-22.\n"),
    "/v1/bad": ("502 Bad Gateway", {"Content-Type": "text/html"}, "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>\n"),
    "/v1/down": ("503 Service Unavailable", {"Retry-After": "120", "Content-Type": "text/plain"}, "Down for maintenance until 06:00 UTC.\n"),
    "/v1/slowpeer": ("504 Gateway Timeout", {"Content-Type": "text/plain"}, "the stock service gave no answer within 30 s\n"),
    "/v1/flood": ("509 Bandwidth Limit Exceeded", {"Content-Type": "text/plain"}, "bandwidth limit\n"),
    "/page": ("200 OK", {"Content-Type": "text/html"}, "<html><body><p>It works: 500 items, limit 60 per minute.</p></body></html>\n"),
    "/half": ("200 OK", {"Content-Type": JSON, "Content-Length": "4096"}, '{"orders":[{"id":1,"total":'),
    "/cutjson": ("200 OK", {"Content-Type": JSON}, '{"orders":[{"id":1,"total":'),
    "/empty": ("200 OK", {"Content-Type": JSON}, ""),
    "/array": ("200 OK", {"Content-Type": JSON}, '[{"id": 1, "name": "lamp"}, {"id": 2}]'),
    "/gzip": ("200 OK", {"Content-Encoding": "gzip", "Content-Type": JSON}, '{"not":"compressed"}'),
    "/loop": ("302 Found", {"Location": "/loop"}, ""),
    "/ping": ("301 Moved Permanently", {"Location": "/pong"}, ""),
    "/pong": ("301 Moved Permanently", {"Location": "/ping"}, ""),
    "/far": ("302 Found", {"Location": "ftp2://files/x"}, ""),
    "/chunks": ("200 OK", {"Transfer-Encoding": "chunked"}, "zz\r\nhello\r\n"),
    "/cutchunk": ("200 OK", {"Transfer-Encoding": "chunked"}, "400\r\nhello"),
    "/headers": ("200 OK", {"X-Trace": "a" * 400000}, "ok"),
}


def answer(connection, path):
    """Answers one request as its path says."""
    if path.startswith("/hang"):
        time.sleep(8)
    elif path.startswith("/reset"):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif path.startswith("/garbage"):
        connection.sendall(b"\x00\x01 hello from port nine\r\n\r\n")
    elif path.startswith("/drip"):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nab")
        time.sleep(8)
    elif path.startswith("/cut"):
        if path in ANSWERS:
            reply(connection, path)
    else:
        reply(connection, path)


def reply(connection, path):
    status, headers, body = ANSWERS.get(path, ("404 Not Found", {"Content-Type": "text/plain"}, "nothing at %s\n" % path))
    held = dict(headers)
    if "Transfer-Encoding" not in held:
        held.setdefault("Content-Length", str(len(body)))
    head = "".join("%s: %s\r\n" % pair for pair in held.items())
    connection.sendall(("HTTP/1.1 %s\r\n%sConnection: close\r\n\r\n%s" % (status, head, body)).encode())


def http(connection):
    request = connection.recv(65536).decode("latin-1")
    answer(connection, (request.split(" ") + ["/", "/"])[1].split("?")[0])


def silent(connection):
    time.sleep(8)


def closing(connection):
    pass


def greeting(connection):
    connection.sendall(b"220 warehouse printer ready\r\n")
    time.sleep(0.3)


def busy(connection):
    connection.sendall(b"Too busy, come back later\r\n")


def listen(handler, context=None):
    """Serves a free loopback port in threads; returns the port."""
    server = socket.create_server(("127.0.0.1", 0), backlog=64)

    def handle(connection):
        try:
            with (context.wrap_socket(connection, server_side=True) if context else connection) as wrapped:
                handler(wrapped)
        except (OSError, ValueError):
            connection.close()

    def accept():
        while True:
            threading.Thread(target=handle, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def full_port(keep):
    """A port whose connection queue is full, so that new connections get no answer."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(0)
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(server.getsockname())
        keep.append(client)
    keep.append(server)
    return server.getsockname()[1]


def certificate(folder, name, subject):
    """Makes a self-signed certificate and its key; returns the server's TLS context."""
    key, cert = "%s/%s.key" % (folder, name), "%s/%s.crt" % (folder, name)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "30",
                    "-subj", "/CN=" + subject, "-addext", "subjectAltName=DNS:" + subject], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def start(folder, keep):
    """Starts them all; returns the ports by the names that the tables use."""
    stranger = certificate(folder, "stranger", "files.brightmoor.example")
    picky = certificate(folder, "picky", "localhost")
    picky.verify_mode = ssl.CERT_REQUIRED
    picky.load_verify_locations(folder + "/picky.crt")
    modern = certificate(folder, "modern", "localhost")
    modern.minimum_version = ssl.TLSVersion.TLSv1_3
    return {"HTTP": listen(http), "SILENT": listen(silent), "CLOSING": listen(closing), "GREETING": listen(greeting), "BUSY": listen(busy),
            "CLOSED": free_port(), "FULL": full_port(keep), "TLS": listen(http, stranger), "CLIENTCERT": listen(http, picky),
            "TLS13": listen(http, modern)}
