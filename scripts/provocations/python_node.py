# SPDX-License-Identifier: MIT
"""python3, node and npm, with source texts that fail."""
from .cases import commands, sources

H = "http://127.0.0.1:@HTTP@"
PYTHON = {
    "external_fault rate_limited 429": [f"import urllib.request\nurllib.request.urlopen('{H}/v1/chat')"],
    "external_fault unavailable": [f"from urllib.request import urlopen\nprint(urlopen('{H}/v1/down').read())"],
    "external_fault connection_refused": [
        "import http.client\nc = http.client.HTTPConnection('127.0.0.1', @CLOSED@)\nc.request('GET', '/stock')",
        "import smtplib\nsmtplib.SMTP('127.0.0.1', @CLOSED@)",
    ],
    "external_fault connection_lost": [
        f"from urllib.request import urlopen\nurlopen('{H}/cut')",
        f"import urllib.request as r\nr.urlopen('{H}/reset').read()",
        "import smtplib\nsmtplib.SMTP('127.0.0.1', @CLOSING@)",
        "import subprocess\np = subprocess.Popen(['true'], stdin=subprocess.PIPE)\np.wait()\np.stdin.write(b'x' * 100000)",
        "import imaplib\nimaplib.IMAP4('127.0.0.1', @CLOSING@)",
        "import asyncio\nasync def main():\n    r, w = await asyncio.open_connection('127.0.0.1', @CLOSING@)\n    print(await r.readexactly(4))\nasyncio.run(main())",
    ],
    "external_fault transfer_cut_off": [f"from urllib.request import urlopen\ndata = urlopen('{H}/half').read()"],
    "external_fault dns_failed": [
        "import urllib.request\nurllib.request.urlopen('http://prices.invalid/today')",
        "import socket\nsocket.create_connection(('ledger.invalid', 5432))",
    ],
    "external_fault resource_busy": [
        "import sqlite3\na = sqlite3.connect('s.db', timeout=0); a.execute('create table t(x)'); a.execute('begin exclusive')\nsqlite3.connect('s.db', timeout=0).execute('insert into t values (1)')",
        "import resource, tempfile\nresource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))\nfiles = [tempfile.TemporaryFile() for _ in range(20)]",
        "import fcntl, os\na = open('run.lock', 'w'); fcntl.flock(a, fcntl.LOCK_EX)\nfcntl.flock(open('run.lock', 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "import socketserver\nsocketserver.TCPServer(('127.0.0.1', @HTTP@), None)",
    ],
    "timeout timed_out": [
        f"from urllib.request import urlopen\nurlopen('{H}/hang', timeout=0.3)",
        "import socket\nsocket.create_connection(('127.0.0.1', @FULL@), timeout=0.3)",
        "import subprocess\nsubprocess.run(['sleep', '5'], timeout=0.2)",
        "import asyncio\nasync def main():\n    async with asyncio.timeout(0.1):\n        await asyncio.sleep(5)\nasyncio.run(main())",
        "from concurrent.futures import ThreadPoolExecutor\nimport time\nf = ThreadPoolExecutor().submit(time.sleep, 0.6)\nf.result(timeout=0.1)",
        "import smtplib\nsmtplib.SMTP('127.0.0.1', @SILENT@, timeout=0.3)",
        "import faulthandler, time\nfaulthandler.dump_traceback_later(0.2, exit=True)\ntime.sleep(4)",
    ],
    "access_denied unauthenticated 401": [f"import urllib.request\nurllib.request.urlopen('{H}/v1/orders')"],
    "access_denied permission_denied": [
        "open('/etc/shop.ini', 'w')", "import os\nos.mkdir('/srv-data')",
        "import shutil\nshutil.copy('notes.txt', '/usr/share/')", "import os\nos.kill(1, 9)",
        "import socket\nsocket.create_server(('127.0.0.1', 85))",
        "import subprocess\nsubprocess.run(['./notes.txt'])",
    ],
    "access_denied bad_credentials": [
        "import ssl, socket\nc = ssl.create_default_context(cafile='@CERTS@/picky.crt')\ns = c.wrap_socket(socket.create_connection(('127.0.0.1', @CLIENTCERT@)), server_hostname='localhost')\ns.send(b'GET /page HTTP/1.0\\r\\n\\r\\n')\nprint(s.recv(10))",
        "import zipfile, subprocess\nsubprocess.run(['zip', '-q', '-P', 'right', 'a.zip', 'notes.txt'])\nzipfile.ZipFile('a.zip').read('notes.txt', pwd=b'wrong')",
    ],
    "wrong_tool_called endpoint_not_found 405": [
        f"import urllib.request as u\nu.urlopen(u.Request('{H}/v1/put', method='PUT', data=b'1'))",
    ],
    "wrong_tool_called command_not_found": [
        "import subprocess\nsubprocess.run(['pdf2text', 'report.pdf'], check=True)",
        "import sys\nsys.argv = ['ship', 'cancle']\nimport argparse\np = argparse.ArgumentParser(prog='ship')\nc = p.add_subparsers()\nc.add_parser('cancel'); c.add_parser('track')\np.parse_args()",
        "import xmlrpc.client\nraise xmlrpc.client.Fault(-32601, 'server error. requested method not found')",
    ],
    "wrong_tool_called unimplemented": [
        "import codecs\ncodecs.lookup('utf-9')", "import hashlib\nhashlib.new('md17')",
        f"import urllib.request\nurllib.request.urlopen('gopher2://files/x')",
    ],
    "context_overflow too_large": [
        "import csv\nnext(csv.reader(['a' * 200000]))",
        "import subprocess\nsubprocess.run(['echo'] + ['x' * 100] * 40000)",
        f"from urllib.request import urlopen\nurlopen('{H}/headers')", "int('9' * 5000)",
        "import urllib.request as r\nr.urlopen(r.Request('http://127.0.0.1:@HTTP@/v1/upload', data=b'x'))",
    ],
    "schema_mismatch invalid_json": [
        "import json\njson.load(open('broken.json'))", "import json\njson.loads('Here is the plan: {\"a\": 1}')",
        "import json\njson.loads('{\"a\": 1} {\"b\": 2}')",
        f"import json\nfrom urllib.request import urlopen\nprint(json.load(urlopen('{H}/empty')))",
        "import json\njson.loads(\"{'a': 1}\")", "import json\njson.load(open('trailing.json'))",
        "import json\njson.loads('\"tab\\there\"')",
    ],
    "schema_mismatch parse_error": [
        "import xml.etree.ElementTree as et\net.parse('broken.xml')",
        "import configparser\nc = configparser.ConfigParser()\nc.read('notes.txt')",
        "import ast\nast.literal_eval('[1, 2')", "import tomllib\ntomllib.loads('a = [1, 2\\nb = 3')",
        "import datetime\ndatetime.date.fromisoformat('31/12/2026')", "import re\nre.compile('(total|sum')",
        "from datetime import datetime\ndatetime.strptime('2026-13-01', '%Y-%m-%d')",
        "import base64\nbase64.b64decode('abc')", "import ipaddress\nipaddress.ip_network('10.1.2.3/8')",
        "import uuid\nuuid.UUID('order-2209')", "import zipfile\nzipfile.ZipFile('notes.txt')",
        "import plistlib\nplistlib.load(open('data.xml', 'rb'))",
        "import pickle\npickle.load(open('notes.txt', 'rb'))",
        "open('x', 'wb').write(b'caf\\xe9')\nopen('x', encoding='utf-8').read()",
        "import gzip\ngzip.open('orders.csv').read()",
    ],
    "schema_mismatch tool_arguments": [
        "def book(room, guests): pass\nbook(room='12', people=3)", "def price(item): pass\nprice()",
        "import argparse\np = argparse.ArgumentParser(prog='resize')\np.add_argument('--width', type=int)\np.parse_args(['--width', 'wide'])",
        "import argparse\np = argparse.ArgumentParser(prog='export')\np.add_argument('--format', choices=['csv', 'json'])\np.parse_args(['--format', 'xml'])",
        "import argparse\np = argparse.ArgumentParser(prog='mail')\np.add_argument('--to', required=True)\np.parse_args(['--cc', 'a'])",
        "import inspect\ndef search(query, *, limit=10): pass\ninspect.signature(search).bind('lamp', top=3)",
        "import math\nmath.sqrt(1, 2)",
    ],
    "schema_mismatch missing_field": [
        "import json\nr = json.loads('{\"id\": 4}')\nfrom dataclasses import dataclass\n@dataclass\nclass Order:\n    id: int\n    total: float\nOrder(**r)",
        "import csv\nfrom operator import itemgetter\nd = csv.DictWriter(open('o.csv', 'w'), ['id', 'total'])\nd.writerow({'id': 1, 'colour': 'red'})",
        "import string\nstring.Template('Dear $name, order $number').substitute(name='Ida')",
        "'{id} of {total}'.format(id=3)",
    ],
    "loop_detected redirect_loop": [
        f"from urllib.request import urlopen\nurlopen('{H}/loop')",
        f"import urllib.request as u\nu.urlopen('{H}/ping')",
    ],
    "loop_detected loop_reported": [
        "from graphlib import TopologicalSorter\nlist(TopologicalSorter({'load': {'clean'}, 'clean': {'fetch'}, 'fetch': {'load'}}).static_order())",
        "import json\na = []\na.append(a)\njson.dumps(a)",
        "import os\nos.symlink('b', 'a'); os.symlink('a', 'b')\nopen('a')",
        "import configparser\nc = configparser.ConfigParser()\nc.read_string('[p]\\na = %(b)s\\nb = %(a)s')\nc.get('p', 'a')",
    ],
    "crashed signal": [
        "import ctypes\nctypes.string_at(0)",
        "import faulthandler, ctypes\nfaulthandler.enable()\nctypes.string_at(0)", "import os\nos.abort()",
        "import os, signal\nprint('loading model', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
        "import subprocess\nsubprocess.run(['bash', '-c', 'kill -SEGV $$'], check=True)",
        "import os\nfrom concurrent.futures import ProcessPoolExecutor\nif __name__ == '__main__':\n    with ProcessPoolExecutor(1) as p:\n        print(p.submit(os.abort).result())",
    ],
    "crashed out_of_memory": [
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (200000000, 200000000))\nrows = ['x' * 1000 for _ in range(10**6)]",
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (300000000, 300000000))\nb = bytearray(10**9)",
    ],
    "crashed stack_overflow": [
        "def walk(n):\n    return walk(n + 1)\nwalk(0)",
        "class Node:\n    def __repr__(self):\n        return f'<{self!r}>'\nprint(Node())",
    ],
    "unknown bug": [
        "orders = [1, 2]\nprint(orders[7])", "total = 5\ntotal.append(3)", "price = {'lamp': 3}\nprice['sofa']",
        "def mean(rows):\n    return sum(rows) / len(rows)\nmean([])", "import helpers.tax",
        "from json import lodes", "print(totl)", "'3' + 4", "None['limit']",
        "assert 412 == 500, 'item limit was not reached'", "for a, b in [(1, 2, 3)]: pass",
        "x = [3, 1]\nx.remove(9)",
        "import threading\ndef run(): raise ValueError('worker 3: negative stock')\nt = threading.Thread(target=run); t.start(); t.join()",
        "async def f(): pass\nf()\nprint('done, 3 tools were called')",
        "class Retry:\n    limit = 5\nRetry().timeout",
        "import asyncio\nasync def a(): raise RuntimeError('seat map out of date')\nasyncio.run(a())",
        "d = {}\nfor k in {'a': 1}: d[k]\n", "import decimal\ndecimal.Decimal(1) / 0",
        "def f():\n    global n\n    n += 1\n    print(m)\nm: int\nf()",
        "try:\n    {}['tool']\nexcept KeyError as e:\n    raise RuntimeError('could not price cart 77') from e",
        "raise SystemExit('2 of 3 invoices differ; nothing was booked')",
        "import unittest\nclass Limits(unittest.TestCase):\n    def test_retry_limit(self):\n        self.assertEqual(5, 3)\n    def test_timeout(self):\n        self.assertIn('quota', 'all fine')\nunittest.main()",
        "import logging\nlogging.basicConfig(level='INFO', format='%(levelname)s %(name)s: %(message)s')\nlogging.info('rate limit is 60, used 12; timeout 30 s')\nlogging.error('card ending 4402 declined')",
        "import warnings\nwarnings.warn('limit() is deprecated, use quota()', DeprecationWarning, stacklevel=1)",
    ],
    "unknown missing_data": [
        "open('inbox/week12.csv')", "import os\nos.listdir('exports')",
        "import sqlite3\nsqlite3.connect(':memory:').execute('select * from carts')",
        f"from urllib.request import urlopen\nurlopen('{H}/v1/customer/77')",
        "import zipfile\nz = zipfile.ZipFile('a.zip', 'w')\nz.read('report.txt')",
        "import importlib.metadata\nimportlib.metadata.version('pricelist')",
        "import os\nos.environ['SHOP_REGION']", "import webbrowser\nwebbrowser.get('lynxx')",
    ],
    "unknown disk_full": ["with open('/dev/full', 'w') as f:\n    f.write('rows')"],
    "unknown cancelled": [
        "import os, signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(1)",
    ],
    "unknown vague": ["import queue\nqueue.Queue(maxsize=1).get(timeout=0.1)"],
    "schema_mismatch wrong_type": ["import struct\nstruct.pack('>H', 70000)"],
}
PYTHON_LINES = {
    "schema_mismatch invalid_argument": [
        "python3 --versoin", "python3 -c", "python3 -X nosuch -W sometimes -c 'pass'",
        "python3 -m json.tool --sorted config.json",
    ],
    "schema_mismatch parse_error": [
        "python3 -m json.tool broken.json", "python3 -m ast notes.txt 2>&1 | tail -4",
        "printf 'def f(:\\n  pass\\n' > a.py; python3 a.py", "printf 'if True:\\nprint(1)\\n' > a.py; python3 a.py",
        "printf 'x = [1,\\n' > a.py; python3 a.py", "printf 'a = 5\\n  b = 3\\n' > a.py; python3 a.py",
        "printf 'class A:\\n\\tx = 1\\n        y = 2\\n' > a.py; python3 a.py", "python3 -c 'x = \"open'",
    ],
    "unknown bug": [
        "python3 -c 'return 5'",
        "python3 -m doctest -v nothing.md 2>&1 | tail -1; printf '>>> 1 + 1\\n3\\n' > d.txt; python3 -m doctest d.txt",
    ],
    "unknown missing_data": [
        "python3 jobs/nightly.py", "python3 -m pricing.report",
        "python3 -m pip install --no-index --disable-pip-version-check -q pricelist",
    ],
    "quota_exhausted quota": [
        "inject write EDQUOT 1+ python3 -c 'f = open(\"o.txt\", \"w\"); f.write(\"x\"); f.close()' 2> e; cat e; inject openat EDQUOT 400+ python3 -c 'print(1)'",
        "inject mkdir EDQUOT 1+ python3 -c 'import os; os.mkdir(\"cache\")' 2>&1 > /dev/null | cat",
    ],
    "external_fault temporary": [
        "inject connect ENETUNREACH 1+ python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 80))' 2> e; tail -1 e",
        "inject socket ENOBUFS 1+ python3 -c 'import socket; socket.socket()' 2> e; cat e",
    ],
    "timeout timed_out": [
        "inject connect ETIMEDOUT 1+ python3 -c 'import ftplib; ftplib.FTP(\"127.0.0.1\")' 2> e; tail -3 e",
    ],
}
N = "const u = '%s';\n" % H
NODE = {
    "external_fault rate_limited": [
        N + "fetch(u + '/v1/chat').then(async r => { if (!r.ok) throw new Error(`HTTP ${r.status} ${r.statusText}: ${await r.text()}`); });",
    ],
    "external_fault connection_refused": [
        "fetch('http://127.0.0.1:@CLOSED@/stock');", "require('net').connect(@CLOSED@, '127.0.0.1');",
    ],
    "external_fault connection_lost": [
        N + "require('http').get(u + '/cut');", N + "fetch(u + '/reset').then(r => r.text());",
        "require('tls').connect(@CLOSING@, '127.0.0.1');",
        "const c = require('child_process').spawn('true'); setTimeout(() => c.stdin.write('x'.repeat(1e6)), 300);",
    ],
    "external_fault transfer_cut_off": [
        N + "fetch(u + '/half').then(r => r.text());",
        N + "require('http').get(u + '/half', r => r.on('data', () => {}).on('error', e => { throw e; }));",
    ],
    "external_fault dns_failed": [
        "fetch('http://search.invalid/q');",
        "require('dns').promises.lookup('cache.invalid').catch(e => { console.error(e.message, e.syscall); process.exit(1); });",
    ],
    "external_fault resource_busy": ["require('http').createServer().listen(@HTTP@, '127.0.0.1');"],
    "timeout timed_out": [
        N + "fetch(u + '/hang', { signal: AbortSignal.timeout(200) });",
        "const r = require('child_process').execFileSync('sleep', ['5'], { timeout: 200 });",
        "const s = require('net').connect(@SILENT@, '127.0.0.1'); s.setTimeout(200, () => s.destroy(new Error('socket idle for 200 ms, giving up')));",
        "const { setTimeout: s } = require('timers/promises');\nPromise.race([s(3000), s(100).then(() => { throw new Error('stock lookup did not settle within 100 ms'); })]).catch(e => { console.error(String(e)); process.exit(1); });",
        "require('vm').runInNewContext('while (true) {}', {}, { timeout: 100 });",
    ],
    "access_denied permission_denied": [
        "require('fs').writeFileSync('/etc/shop.json', '{}');", "require('fs').mkdirSync('/opt/shop-cache');",
        "require('http').createServer().listen(88, '127.0.0.1');", "process.kill(1);",
        "require('child_process').execFileSync('./notes.txt');",
    ],
    "access_denied bad_credentials": [
        "require('https').get({ host: '127.0.0.1', port: @CLIENTCERT@, rejectUnauthorized: false });",
        "const { createDecipheriv: d } = require('crypto'); const c = d('aes-256-gcm', Buffer.alloc(32), Buffer.alloc(12)); c.setAuthTag(Buffer.alloc(16)); c.update('aa', 'hex'); c.final();",
    ],
    "wrong_tool_called command_not_found": [
        "require('child_process').execFileSync('pdf2text', ['a.pdf']);",
        "require('child_process').execSync('shipit --now', { stdio: 'pipe' });",
        "const tools = { search() {} };\nconst call = { name: 'serch' };\nif (!(call.name in tools)) throw new Error(`model called ${call.name}; offered: ${Object.keys(tools)}`);",
    ],
    "wrong_tool_called unimplemented": [
        "require('crypto').createHash('md17');", "new TextDecoder('utf-9');",
        "require('crypto').createCipheriv('aes-9', '', '');", "fetch('gopher://a/b');",
    ],
    "context_overflow too_large": [
        N + "require('http').get(u + '/headers');", "Buffer.alloc(2 ** 40);",
        "require('child_process').execFileSync('echo', Array(40000).fill('x'.repeat(100)));",
    ],
    "schema_mismatch invalid_json": [
        "JSON.parse(require('fs').readFileSync('broken.json', 'utf8'));", "JSON.parse('Sure! {\"a\": 1}');",
        "JSON.parse('');", "JSON.parse('{\"a\": undefined}');", N + "fetch(u + '/page').then(r => r.json());",
        N + "fetch(u + '/cutjson').then(r => r.json());", "require('./trailing.json');",
    ],
    "schema_mismatch parse_error": [
        "new URL('shop/items');", "new RegExp('(total');", "BigInt('12.5');", "decodeURIComponent('%E0%A4%A');",
        "new Date('2026-99-01').toISOString();", N + "require('http').get(u + '/garbage');",
        N + "require('http').get(u + '/chunks', r => r.resume());", "require('zlib').gunzipSync('not gzip');",
        "atob('é');", "new Intl.NumberFormat('xx-invalid-locale-99');",
        N + "fetch(u + '/gzip').then(r => r.text());", "function f( { }", "let a = 1; let a = 2;",
    ],
    "schema_mismatch wrong_type": [
        "require('fs').readFileSync({ path: 'a' });", "Buffer.from(5);", "require('path').join('a', 7);",
        "structuredClone(() => 1);", "JSON.stringify({ n: 5n });", "new Headers([['a']]);",
        "require('http').get({ headers: { 'X-Name': 'a\\nb' } });", "(5).toFixed(200);", "setTimeout('later');",
        "require('net').connect(70000);",
        "const { parseArgs } = require('util');\nparseArgs({ args: ['--limit'], options: { limit: { type: 'string' } } });",
        "const { parseArgs } = require('util');\nparseArgs({ args: ['--colour', 'x'], options: {} });",
    ],
    "loop_detected redirect_loop": [N + "fetch(u + '/loop');"],
    "loop_detected loop_reported": [
        "const a = { name: 'step' }; a.next = a; JSON.stringify(a);",
        "require('fs').symlinkSync('b', 'a'); require('fs').symlinkSync('a', 'b'); require('fs').readFileSync('a');",
        "const { EventEmitter: E } = require('events'); const e = new E(); for (let i = 0; i < 12; i++) e.on('tick', () => {});",
    ],
    "crashed out_of_memory": ["const a = []; for (;;) a.push(new Array(1e5).fill('row'.concat(a.length)));"],
    "crashed signal": [
        "process.abort();", "console.log('resizing 3 images'); process.kill(process.pid, 'SIGKILL');",
        "process.kill(process.pid, 'SIGSEGV'); setTimeout(() => {}, 500);",
        "require('child_process').execSync('kill -ABRT $$', { stdio: 'pipe' });",
    ],
    "crashed stack_overflow": ["const walk = n => walk(n + 1) + 1; walk(0);"],
    "unknown bug": [
        "const cart = undefined; cart.items;", "null.limit = 5;", "totl + 1;", "const limit = 5; limit = 6;",
        "const o = {}; o.fetchAll();", "[].reduce((a, b) => a + b);",
        "Promise.reject(new Error('seat 12C was sold meanwhile'));", "Promise.reject('no reason given');",
        "throw { code: 7, retries: 3 };", "import x from './a.js';", "await fetch('x');", "for (const x of 5) {}",
        "new (class { #p; static f(o) { return o.#p; } }).constructor.f({});",
        "require('assert').strictEqual(412, 500, 'items left over');",
        "require('assert').deepStrictEqual({ limit: 5, tools: ['a'] }, { limit: 5, tools: ['b'] });",
        "console.error('retry limit 5, timeout 30 s: settings are fine'); process.exitCode = 3; throw new TypeError('price is negative');",
        "require('events').prototype.emit.call({}, 'error', new Error('stock of lamp is 0'));",
        "const { test } = require('node:test');\ntest('limit is kept', () => { throw new Error('expected 5, got 6'); });",
        "const d = new (require('util').deprecate(function Old() {}, 'Old() is deprecated, use quota()', 'DEP77'))();",
        "class A { constructor() { this.x; } } A();",
        "class B extends Object { constructor() { this.y = 1; } } new B();",
        "new Array(-5);"],
    "unknown missing_data": [
        "require('fs').readFileSync('inbox/week12.csv');", "require('pricelist');", "require('./lib/tax');",
        "require('fs').readdirSync('exports');", "process.chdir('exports/2026');",
    ],
    "unknown disk_full": ["require('fs').writeFileSync('/dev/full', 'rows');"],
    "schema_mismatch invalid_argument": ["require('zlib'); new Intl.DateTimeFormat('en', { calendar: 'x', timeZone: 'Moon/Crater' });"],
}
NODE_LINES = {
    "schema_mismatch invalid_argument": [
        "node --inspekt app.js", "node --max-old-space-size=lots -e 0", "node -e", "node --stack-trace-limit",
    ],
    "unknown missing_data": ["node jobs/nightly.js", "node --test nothing.test.js"],
}
P = "printf '%%s' '%s' > package.json; "
NPM = {
    "wrong_tool_called command_not_found": [
        "npm instal-all", P % '{"scripts":{"build":"tscc -p ."}}' + "npm run build",
    ],
    "schema_mismatch invalid_json": [
        "cp broken.json package.json; npm test", "cp trailing.json package.json; npm pkg get name",
    ],
    "schema_mismatch validation_error": [
        P % '{"name":"shop","version":"1.0.0"}' + "npm version soon", "npm init -y --scope=@Bad/Scope",
        P % '{"name":"shop","version":"1.0.0","bin":5}' + "npm pkg set x", "npm install --offline 'a b@^1'",
        "npm config set fetch-retries",
    ],
    "unknown missing_data": ["npm ci --offline", "npm install ./pricelist-1.2.tgz", "npm run biuld"],
    "unknown bug": [
        P % '{"scripts":{"test":"node -e \\"process.exit(3)\\""}}' + "npm test",
        P % '{"engines":{"node":">=99"},"name":"a","version":"1.0.0"}' + "npm install --offline --engine-strict",
        P % '{"name":"a","version":"1.0.0","scripts":{"prepack":"echo quota 5, limit 6; false"}}' + "npm pack",
        P % '{"name":"a","version":"1.0.0","dependencies":{"b":"^1"}}' + "npm ls",
    ],
    "external_fault connection_refused": [
        "npm view pricelist --registry http://127.0.0.1:@CLOSED@ --fetch-retries 0",
    ],
    "external_fault dns_failed": ["npm view pricelist --registry http://npm.invalid --fetch-retries 0"],
    "external_fault server_error": [f"npm view down --registry {H}/v1 --fetch-retries 0"],
    "external_fault rate_limited": [f"npm view chat --registry {H}/v1 --fetch-retries 0"],
    "external_fault connection_lost": [f"npm view reset --registry {H} --fetch-retries 0"],
    "access_denied unauthenticated": [
        f"npm view orders --registry {H}/v1 --fetch-retries 0", f"npm whoami --registry {H}/v1",
    ],
    "access_denied forbidden": [f"npm view admin --registry {H}/v1 --fetch-retries 0"],
    "access_denied permission_denied": [
        "npm config set --location=global color=false",
        P % '{"name":"a","version":"1.0.0"}' + "mkdir node_modules; chmod 500 . ; npm pack",
    ],
    "timeout timed_out": [f"npm view hang --registry {H} --fetch-retries 0 --fetch-timeout 300"],
    "schema_mismatch output_format": [f"npm view page --registry {H} --fetch-retries 0"],
    "crashed signal": [
        P % '{"scripts":{"build":"kill -KILL $$"}}' + "npm run build",
        P % '{"scripts":{"e2e":"kill -SEGV $$"}}' + "npm run e2e",
    ],
    "schema_mismatch invalid_argument": ["npm config set registry nowhere"],
}


def cases():
    yield from sources("cpython", ["load_prices.py", "jobs/nightly.py", "agent/tools.py", "sync.py", "report.py"], "python3 {f}", PYTHON)
    yield from commands("cpython", PYTHON_LINES)
    yield from sources("nodejs", ["index.js", "src/tools.js", "worker.js"], "node --max-old-space-size=60 {f}", NODE)
    yield from commands("nodejs", NODE_LINES)
    yield from commands("npm", NPM, "npm")
