# SPDX-License-Identifier: MIT
"""perl, tclsh, ruby, php and lua, with source texts that fail."""
from .cases import commands, sources

H = "http://127.0.0.1:@HTTP@"
PERL = {
    "schema_mismatch parse_error": [
        "my $x = (1, 2;\nprint $x;", "print 'a' 'b';", "if (1) { print 1;", "my @a = qw(a b;\n", "$s =~ m/(total/;",
        "use JSON::PP; decode_json('{\"a\": 1,}');", "use JSON::PP; decode_json('');",
        "use JSON::PP; decode_json('Sure: {}');",
    ],
    "schema_mismatch tool_arguments": [
        "use strict; sub f($$) { } f(1);", "splice(1);",
        "use Getopt::Long; @ARGV = ('--wide', '--width', 'x'); GetOptions('width=i' => \\my $w) or die 'usage: resize --width N';",
        "use warnings; printf \"%d of %s\\n\", 'ten';",
    ],
    "wrong_tool_called method_not_found": [
        "translate_text('hi');", "use List::Util qw(average);",
        "package Cart; sub new { bless {} } package main; Cart->new->chekout;", "Shipping->track(7);",
        "system('shipit --now') == 0 or die \"shipit: $!\";",
    ],
    "unknown bug": [
        "use strict; $totl = 5;", "my $a = 5; my $b = $a / ($a - 5);", "use strict; my $r = 'name'; print @$r;",
        "my $r; use strict; print $r->{x}->method;", "die \"stock of lamp is 0, limit 5\\n\";",
        "use warnings FATAL => 'all'; my $n = 'three' + 1;",
        "use Test::More tests => 2; is(3, 5, 'limit is kept'); ok(1);", "local $SIG{ALRM}; sqrt(-1);",
        "use constant LIMIT => 5; LIMIT = 6;", "my %h = (a => 1); keys 5;",
        "use warnings; my @a; print $a[3] . 'x';", "goto NEXT_PAGE;",
        "use warnings; warn 'retry limit 5 and timeout 30 are ignored in test mode';exit 4",
        "use Carp; sub book { croak 'room 12 is taken' } book();",
    ],
    "plan_incomplete subgoals_left": [
        "use Test::More tests => 5; ok(1); ok(1);", "use Test::More; ok(1, 'first'); ok(1, 'second');",
        "use Test::More tests => 3; pass('load'); exit 0;",
    ],
    "unknown missing_data": [
        "open(my $f, '<', 'week12.csv') or die \"week12.csv: $!\";", "use Price::List;", "require './settings.pl';",
        "opendir(my $d, 'exports') || die \"Cannot read exports: $!\";", "do 'steps/load.pl' or die \"load: $!\";",
    ],
    "access_denied permission_denied": [
        "open(my $f, '>', '/etc/shop') or die \"Can't write settings: $!\";", "mkdir '/srv2' or die \"mkdir: $!\";",
        "kill(9, 1) or die \"could not stop it: $!\";",
    ],
    "external_fault connection_refused": [
        "use IO::Socket::INET; IO::Socket::INET->new('127.0.0.1:@CLOSED@') or die \"queue: $@\";",
    ],
    "external_fault dns_failed": ["use IO::Socket::INET; IO::Socket::INET->new('queue.invalid:80') or die $@;"],
    "external_fault unavailable": [
        f"use HTTP::Tiny; my $r = HTTP::Tiny->new->get('{H}/v1/down'); die \"$r->{{status}} $r->{{reason}}: $r->{{content}}\";",
    ],
    "external_fault connection_lost": [
        f"use HTTP::Tiny; my $r = HTTP::Tiny->new->get('{H}/cut'); die $r->{{content}};",
    ],
    "timeout timed_out": [
        f"use HTTP::Tiny; my $r = HTTP::Tiny->new(timeout => 0.3)->get('{H}/hang'); die \"$r->{{status}} $r->{{content}}\";",
        "use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => '127.0.0.1:@FULL@', Timeout => 0.3) or die \"connect: $@\";",
        "$SIG{ALRM} = sub { die \"alarm: lookup took more than 1 s\\n\" }; alarm 1; sleep 4;",
    ],
    "crashed signal": ["kill 'SEGV', $$; sleep 1;", "print STDERR \"page 3\\n\"; kill 'KILL', $$; sleep 1;"],
    "crashed out_of_memory": ["my $x = 'a' x 9e15;", "my @a; $#a = 9e12;"],
    "loop_detected loop_reported": [
        "symlink 'b', 'a'; symlink 'a', 'b'; open(F, '<', 'a') or die \"a: $!\";",
        "package A; our @ISA = ('B'); package B; our @ISA = ('A'); B->go;",
    ],
    "context_overflow too_large": [
        "use JSON::PP; decode_json('[' x 2000);", "exec('/bin/echo', ('x' x 100) x 40000) or die \"echo: $!\";",
    ],
    "unknown disk_full": ["open(my $f, '>', '/dev/full'); print $f 'rows'; close($f) or die \"close: $!\";"],
    "unknown vague": ["die { code => 7 };"],
}
TCL = {
    "wrong_tool_called command_not_found": [
        "translate hello fr", "string revers abc", "exec pdf2text report.pdf", "dict fetch {a 1} a",
        "package require pricelist", "info colours",
    ],
    "schema_mismatch tool_arguments": [
        "set a 1 2", "proc book {room guests} {}\nbook 12", "lindex", "open a b c d", "proc f {a} {}\nf 1 2 3",
        "after", "regexp a", "foreach {} {1 2} {}",
    ],
    "schema_mismatch wrong_type": [
        "incr n twelve", "lindex {a b} first", "dict get {a b c} a", "set x [expr {\"a\" + 1}]",
        "after soon puts x", "string repeat a many", "lrange {a b} 0 last", "format %d ten",
        "clock scan notadate -format %Y", "open notes.txt z",
    ],
    "schema_mismatch parse_error": [
        "if {1} { puts a", "puts \"unclosed", "expr {3 +}", "regexp {(total} x", "set x [list 1 2", "expr {1 ? 2}",
        "lindex \"{a\" 0",
    ],
    "unknown bug": [
        "puts $total", "expr {1 / 0}", "set a(1) x\nputs $a", "array set a {b}",
        "error {stock of lamp is 0, limit 5}", "unset nothing", "set d [dict create a 1]\ndict get $d tool",
        "return -code error {room 12 is taken}", "rename gone {}", "throw {SHOP PRICE} {price is negative}",
        "puts $env(SHOP_REGION)", "upvar 9 x y", "break",
    ],
    "unknown missing_data": [
        "open week12.csv", "source steps/load.tcl", "cd exports", "file copy a.csv b.csv", "glob *.xlsx",
        "load libprices.so",
    ],
    "access_denied permission_denied": [
        "open /etc/shop w", "file mkdir /srv2", "exec ./notes.txt", "file delete /etc/hostname",
    ],
    "external_fault connection_refused": ["socket 127.0.0.1 @CLOSED@"],
    "external_fault dns_failed": ["socket queue.invalid 80"],
    "external_fault resource_busy": ["socket -server x -myaddr 127.0.0.1 @HTTP@"],
    "external_fault connection_lost": [
        "set s [socket 127.0.0.1 @CLOSING@]\nafter 200\nputs $s [string repeat x 500000]\nflush $s\nputs $s y\nflush $s",
    ],
    "timeout timed_out": [
        "package require http\nset t [http::geturl http://127.0.0.1:@HTTP@/hang -timeout 200]\nerror \"[http::status $t] [http::error $t]\"",
    ],
    "loop_detected loop_reported": [
        "proc again {n} { again [incr n] }\nagain 0", "interp alias {} a {} b\ninterp alias {} b {} a",
        "exec ln -s q r\nexec ln -s r q\nopen q",
    ],
    "crashed signal": ["exec sh -c {kill -SEGV $$}", "exec sh -c {kill -KILL $$}"],
    "timeout time_limit": ["interp create s\ns limit time -seconds [clock seconds]\ns eval {while 1 {}}"],
    "unknown disk_full": ["set f [open /dev/full w]\nputs $f rows\nclose $f"],
    "context_overflow too_large": ["string repeat abc 2000000000", "exec echo [string repeat x 3000000]"],
    "unknown near_miss": ["interp create s\ns limit command -value 50\ns eval {while 1 {incr n}}"],
}
RUBY = {
    "external_fault connection_refused": [
        "require 'net/http'\nNet::HTTP.get(URI('http://127.0.0.1:@CLOSED@/stock'))",
    ],
    "external_fault connection_lost": [
        f"require 'net/http'\nNet::HTTP.get(URI('{H}/cut'))",
        "require 'socket'\ns = TCPSocket.new('127.0.0.1', @CLOSING@)\nsleep 0.2\n3.times { s.write('x' * 90000); sleep 0.1 }",
    ],
    "external_fault dns_failed": ["require 'socket'\nTCPSocket.new('queue.invalid', 80)"],
    "external_fault unavailable": [f"require 'open-uri'\nURI.open('{H}/v1/down')"],
    "external_fault rate_limited": [f"require 'net/http'\nr = Net::HTTP.get_response(URI('{H}/v1/chat'))\nr.value"],
    "timeout timed_out": [
        f"require 'net/http'\nh = Net::HTTP.new('127.0.0.1', @HTTP@)\nh.read_timeout = 0.2\nh.max_retries = 0\nh.get('/hang')",
        "require 'timeout'\nTimeout.timeout(0.2) { sleep 3 }",
        "require 'socket'\nSocket.tcp('127.0.0.1', @FULL@, connect_timeout: 0.2)",
        "require 'net/http'\nh = Net::HTTP.new('127.0.0.1', @FULL@)\nh.open_timeout = 0.2\nh.start",
    ],
    "access_denied permission_denied": [
        "File.write('/etc/shop', 'x')", "Dir.mkdir('/srv2')", "require 'socket'\nTCPServer.new('127.0.0.1', 86)",
        "Process.kill(9, 1)",
    ],
    "access_denied unauthenticated 401": [f"require 'open-uri'\nURI.open('{H}/v1/orders').read"],
    "wrong_tool_called command_not_found": [
        "exec 'pdf2text', 'a.pdf'", "`shipit --now`", "require 'openssl'\nOpenSSL::Digest.new('md17')",
        "puts 'a'.encode('utf-9')",
    ],
    "schema_mismatch invalid_json": [
        "require 'json'\nJSON.parse(File.read('broken.json'))", "require 'json'\nJSON.parse('Sure! {}')",
        "require 'json'\nJSON.parse('')",
    ],
    "schema_mismatch parse_error": [
        "require 'yaml'\nYAML.load(\"a: b: c\\n- d\")", "require 'date'\nDate.parse('soon')",
        "Regexp.new('(total')", "Integer('12.5 kg')", "require 'csv'\nCSV.parse(%q(a,\"b))",
        "require 'uri'\nURI('http://a b/')", "require 'time'\nTime.iso8601('31/12/2026')",
        "require 'rexml/document'\nREXML::Document.new('<a><b></a>')", "Float('ten')",
        "require 'optparse'\nOptionParser.new { |o| o.on('--width N', Integer) }.parse!(%w[--width wide])",
        "def f\n  puts 1\n", "x = [1,\n",
    ],
    "schema_mismatch tool_arguments": [
        "def book(room, guests) = nil\nbook(12)", "def price(item:, currency:) = nil\nprice(item: 'lamp')",
        "def ship(to:) = nil\nship(to: 'x', via: 'rail')", "[1].first('two')", "Struct.new(:id).new(1, 2)",
        "require 'yaml'\nYAML.safe_load(':a: !ruby/object:Set {}')",
    ],
    "unknown bug": [
        "nil.limit", "totl + 1", "[1, 2].fetch(7)", "{ lamp: 3 }.fetch(:sofa)", "5 / 0", "'3' + 4",
        "raise 'stock of lamp is 0, limit 5'", "LIMIT = 5\nLIMIT.freeze\n'a'.freeze << 'b'", "require './lib/tax'",
        "raise ArgumentError", "Cart.new", "3.append(4)",
        "abort('2 of 3 invoices differ; timeout setting is 30 s')", "Object.new.send(:initialize_copy, 5)",
        "throw :done", "case [1, 2]\nin [a] then a\nend", "Comparable.instance_method(:<).bind_call(3, nil)",
        "Thread.new { raise IOError, 'printer 4 is out of paper' }.join",
        "catch(:a) { loop { raise StopIteration }; raise NotImplementedError, 'refunds by rail' }",
        "fiber = Fiber.new { 1 }\nfiber.resume\nfiber.resume", "Ractor.new { 1 }.take\nDATA.read",
    ],
    "unknown missing_data": [
        "File.read('inbox/week12.csv')", "require 'pricelist'", "ENV.fetch('SHOP_REGION')",
        "Dir.children('exports')", f"require 'open-uri'\nURI.open('{H}/v1/customer/77')",
    ],
    "crashed stack_overflow": ["def walk(n) = walk(n + 1) + 1\nwalk(0)"],
    "crashed out_of_memory": [
        "Process.setrlimit(Process::RLIMIT_AS, 500_000_000)\na = []\nloop { a << 'x' * 30_000_000 }", "'x' * (2**62)"],
    "crashed signal": ["Process.kill(:KILL, $$)\nsleep 1", "Process.kill(:ABRT, Process.pid)\nsleep 1"],
    "loop_detected redirect_loop": [f"require 'open-uri'\nURI.open('{H}/loop')"],
    "loop_detected loop_reported": [
        "require 'tsort'\nclass H < Hash\n  include TSort\n  alias tsort_each_node each_key\n  def tsort_each_child(n, &b) = fetch(n).each(&b)\nend\nH[load: [:fetch], fetch: [:load]].tsort",
        "q = Queue.new\nq.pop",
        "File.symlink('b', 'a'); File.symlink('a', 'b')\nFile.open('a')",
    ],
    "context_overflow too_large": [
        "require 'json'\nJSON.parse('[' * 200)", "[1] * (2**61)", "2 ** (2**40)\nInteger.sqrt(-1)", "require 'json'\na = []\na << a\nJSON.generate(a)"],
    "unknown disk_full": ["File.open('/dev/full', 'w') { |f| f.write('rows') }"],
    "unknown cancelled": ["Process.kill(:INT, $$)\nsleep 1"],
}
PHP = {
    "external_fault connection_refused": [
        "$s = stream_socket_client('tcp://127.0.0.1:@CLOSED@', $n, $e, 1) or die(\"queue: $e ($n)\\n\");",
    ],
    "external_fault dns_failed": ["echo file_get_contents('http://prices.invalid/today');"],
    "external_fault unavailable": [f"$r = file_get_contents('{H}/v1/down');"],
    "external_fault rate_limited 429": [f"file_get_contents('{H}/v1/chat') or exit(1);"],
    "timeout timed_out": [
        "$s = stream_socket_client('tcp://127.0.0.1:@FULL@', $n, $e, 0.2);",
    ],
    "timeout time_limit": ["set_time_limit(1); while (true) { $x = 1; }"],
    "access_denied permission_denied": [
        "file_put_contents('/etc/shop', 'x');", "mkdir('/srv2') or exit(2);",
        "copy('notes.txt', '/usr/share/notes.txt');",
    ],
    "access_denied unauthenticated": [f"$orders = file_get_contents('{H}/v1/orders');"],
    "wrong_tool_called unimplemented": [
        "hash('md17', 'x');", "stream_socket_client('quic://a:1');", "mb_internal_encoding('utf-9');",
        "fopen('gopher2://a/b', 'r');",
    ],
    "wrong_tool_called method_not_found": [
        "translate_text('hi', 'fr');", "class Cart {} (new Cart)->chekout();", "call_user_func('ship_order', 7);",
    ],
    "schema_mismatch invalid_json": [
        "json_decode(file_get_contents('broken.json'), flags: JSON_THROW_ON_ERROR);",
        "json_decode(\"\\xff\", false, 512, JSON_THROW_ON_ERROR);",
    ],
    "schema_mismatch parse_error": [
        "preg_match('/(total/', 'x');", "new DateTime('soonish 99');", "unserialize('a:1:{');",
        "parse_ini_string('a = (b');", "preg_match('total', 'x');", "new DateTimeZone('Moon/Crater');", "json_decode('[[1]]', true, 1, JSON_THROW_ON_ERROR);",
        "if (true) { echo 1;", "echo 'a' 'b';",
    ],
    "schema_mismatch tool_arguments": [
        "function book(int $room, int $guests) {} book(12);", "function price(int $n) {} price('lamp');",
        "strlen();", "function ship(string $to) {} ship(via: 'rail', to: 'x');", "array_chunk([1], 0);",
        "declare(strict_types=1); round('2.5');", "range(1, 2, 5, 7);", "str_repeat('a', -1);",
        "printf('%d of %d', 3);", "array_combine([1], [1, 2]);",
        "enum S: string { case Open = 'open'; } S::from('opne');",
    ],
    "unknown bug": [
        "echo $totl;", "echo 5 % 0;", "$a = null; $a->limit();", "intdiv(1, 0);", "echo [1][7];",
        "throw new RuntimeException('stock of lamp is 0, limit 5');", "$x = 'abc'; $x[] = 'd';",
        "abstract class A {} new A;", "const LIMIT = 5; define('LIMIT', 6);", "echo $cart['tool']['name'];",
        "trigger_error('retry limit and timeout are ignored', E_USER_WARNING); exit(3);", "new Invoice(7);",
        "class B { private $q; } echo (new B)->q;",
        "class R { public readonly int $n; function __construct() { $this->n = 1; $this->n = 2; } } new R;",
        "echo match(5) { 1 => 'a' };", "assert(false, 'limit kept'); throw new LogicException('refund twice');",
        "function f(): int { return; }", "interface I { function go(); } class C implements I {}",
        "'3 lamps' + 'x';", "echo UNKNOWN_LIMIT;", "exit('2 of 3 invoices differ');", "Cart::open(7);"],
    "unknown missing_data": [
        "require 'settings.php';", "file_get_contents('inbox/week12.csv');", "include('lib/tax.php');",
        "scandir('exports');", "rename('a.csv', 'b.csv');",
    ],
    "unknown deprecated": [
        "function f($a = 1, $b) {}", "class D {} $d = new D; $d->limit = 5;",
    ],
    "crashed out_of_memory": [
        "ini_set('memory_limit', '8M'); $a = []; while (true) $a[] = 'row' . count($a);",
        "ini_set('memory_limit', '4M'); str_repeat('x', 90000000);",
    ],
    "crashed signal": [
        "posix_kill(getmypid(), 9); sleep(1);", "posix_kill(posix_getpid(), SIGSEGV ?? 11); sleep(1);",
    ],
    "loop_detected redirect_loop": [f"file_get_contents('{H}/loop');"],
    "loop_detected loop_reported": [
        "$a = []; $a['x'] = &$a; json_encode($a, JSON_THROW_ON_ERROR);",
        "class P extends Q {} class Q extends P {}",
    ],
    "context_overflow too_large": ["str_repeat('abc', PHP_INT_MAX);", "array_fill(0, PHP_INT_MAX, 1);"],
    "unknown disk_full": ["file_put_contents('/dev/full', 'rows');"],
    "unknown vague": [f"var_dump(file_get_contents('{H}/cut'));"],
}
PHP_LINES = {
    "schema_mismatch invalid_argument": ["php --runn x", "php -d", "php -S nowhere"],
    "unknown missing_data": ["php jobs/nightly.php", "php --re pricelist", "php --rc Cart"],
    "wrong_tool_called command_not_found": ["php --rf translate_text"],
}
LUA = {
    "schema_mismatch parse_error": [
        "local t = {1, 2", "if x then print(1)", "x = = 3", "print('open", "for i = 1 do end",
        "local function f( return 1 end", "return 1 2", "a.b:c = 3", "print(1e)",
    ],
    "schema_mismatch tool_arguments": [
        "tonumber()", "string.rep()", "table.concat({1, {}})", "('x'):rep('many')", "setmetatable(1, {})",
        "string.format('%d', 'ten')", "string.format('%d', 2.5)", "math.floor('a')", "table.insert({1}, 9, 2)",
        "string.char(999)", "io.open('a', 'zz')", "select(0)", "string.find('a', '[b')",
        "string.gsub('a', '(', '')", "os.date('%Ez', 0)", "load(5)", "table.unpack({}, 1, 1e8)", "ipairs()",
    ],
    "unknown bug": [
        "translate('hi')", "local cart; print(cart.items)", "local a = {} + 1", "print(#5)", "local a = 'x' < 3",
        "error('stock of lamp is 0, limit 5')", "error({code = 7})", "local t = {}; t[nil] = 1",
        "local t = {}; t.ship()", "assert(412 == 500, 'items left over')", "assert(false)", "print(1 // 0)",
        "for i = 1, 10, 0 do end", "print('a' .. nil)", "local s = 'abc'; s.x.y = 2",
        "error('retry 2 of 5: timeout is 30 s', 0)",
        "coroutine.wrap(function() error('worker 3 gave up a seat') end)()", "coroutine.resume(5)",
        "local c = coroutine.wrap(function() end); c(); c()", "print(2^53 | 1.5)", "next({}, 'a')",
        "string.rep('x', -1):upper().y.z()", "local x <const> = 1; x = 2",
    ],
    "unknown missing_data": [
        "require 'pricelist'", "dofile('steps/load.lua')", "for l in io.lines('week12.csv') do end",
        "assert(io.open('inbox/a.csv'))", "assert(os.rename('a', 'b'))", "assert(loadfile('x.lua'))",
    ],
    "access_denied permission_denied": [
        "assert(io.open('/etc/shop', 'w'))", "io.output('/etc/shop')", "assert(os.remove('/etc/hostname'))",
    ],
    "crashed stack_overflow": [
        "local function f(n) return f(n + 1) + 1 end f(0)",
        "setmetatable(_G, {__index = function(t, k) return t[k] end}) print(x)",
        "local s = string.rep('(', 300) .. '1' assert(load('return ' .. s))",
    ],
    "crashed out_of_memory": ["local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end"],
    "loop_detected loop_reported": [
        "local a = {} setmetatable(a, {__index = a}) print(a.x)",
        "local a, b = {}, {} setmetatable(a, {__index = b}) setmetatable(b, {__index = a}) a.x.y = 1",
    ],
    "context_overflow too_large": [
        "string.rep('abc', 1 << 62)",
        "local s = {} for i = 1, 300 do s[i] = 'local a' .. i end assert(load(table.concat(s, ' ')))",
        "print(table.unpack({}, 1, 1e7))",
    ],
    "unknown disk_full": ["local f = io.open('/dev/full', 'w') f:write('rows') assert(f:close())"],
    "wrong_tool_called command_not_found": [
        "assert(os.execute('pdf2text a.pdf'))", "string.trim(' a ')", "table.map({}, print)",
    ],
}
LUA_LINES = {"schema_mismatch invalid_argument": ["lua5.4 --version5", "lua5.4 -e", "lua5.4 -l"], "unknown missing_data": ["lua5.4 jobs/nightly.lua", "lua5.4 -l tax -e 'x()'"]}


def cases():
    yield from sources("perl", ["conv.pl", "jobs/load.pl", "t/limits.t"], "perl {f}", PERL)
    yield from sources("tcl", ["panel.tcl", "steps/run.tcl"], "tclsh {f}", TCL)
    yield from sources("ruby", ["sync.rb", "jobs/nightly.rb", "bin/import.rb"], "ruby {f}", RUBY)
    yield from sources("php", ["import.php", "cron/report.php"], "php -d display_errors=stderr -d log_errors=0 {f}", {key: ["<?php\n" + text for text in texts] for key, texts in PHP.items()})
    yield from commands("php", PHP_LINES)
    yield from sources("lua", ["rules.lua", "plugins/cart.lua"], "prlimit --as=200000000 lua5.4 {f}", LUA, "lua5.4")
    yield from commands("lua", LUA_LINES)
