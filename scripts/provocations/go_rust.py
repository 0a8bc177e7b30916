# SPDX-License-Identifier: MIT
"""go, rustc, cargo."""
from .cases import commands, sources


def go(body, *imports):
    return "package main\n\nimport (\n%s\n)\n\nfunc main() {\n\t%s\n}" % ("\n".join('\t"%s"' % name for name in imports), body.replace("\n", "\n\t"))


H = "http://127.0.0.1:@HTTP@"
GO = {
    "external_fault connection_refused": [
        go('_, err := http.Get("http://127.0.0.1:@CLOSED@/stock")\nlog.Fatal(err)', "log", "net/http"),
    ],
    "external_fault connection_lost": [
        go('_, err := http.Get("%s/cut")\npanic(err)' % H, "net/http"),
        go('_, err := http.Get("%s/reset")\nlog.Fatalf("stock: %%v", err)' % H, "log", "net/http"),
    ],
    "external_fault transfer_cut_off": [
        go('r, _ := http.Get("%s/half")\n_, err := io.ReadAll(r.Body)\nlog.Fatal("read orders: ", err)' % H, "io", "log", "net/http"),
    ],
    "external_fault dns_failed": [
        go('_, err := net.Dial("tcp", "ledger.invalid:5432")\nlog.Fatal(err)', "log", "net"),
    ],
    "external_fault resource_busy": [
        go('_, err := net.Listen("tcp", "127.0.0.1:@HTTP@")\nlog.Fatal(err)', "log", "net"),
    ],
    "timeout timed_out": [
        go('c := http.Client{Timeout: 200 * time.Millisecond}\n_, err := c.Get("%s/hang")\nlog.Fatal(err)' % H, "log", "net/http", "time"),
        go('_, err := net.DialTimeout("tcp", "127.0.0.1:@FULL@", 200*time.Millisecond)\nlog.Fatal("queue: ", err)', "log", "net", "time"),
        go('ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)\ndefer stop()\n<-ctx.Done()\nlog.Fatalf("rank items: %v", ctx.Err())', "context", "log", "time"),
        go('c, _ := net.Dial("tcp", "127.0.0.1:@SILENT@")\nc.SetReadDeadline(time.Now().Add(1e8))\n_, err := c.Read(make([]byte, 4))\nlog.Fatal(err)', "log", "net", "time"),
        go('ctx, stop := context.WithTimeout(context.Background(), 1e8)\ndefer stop()\nerr := exec.CommandContext(ctx, "sleep", "3").Run()\nlog.Fatal(err, ": ", ctx.Err())', "context", "log", "os/exec"),
    ],
    "access_denied permission_denied": [
        go('panic(os.WriteFile("/etc/shop", nil, 0o600))', "os"),
        go('_, err := net.Listen("tcp", "127.0.0.1:83")\nlog.Fatal(err)', "log", "net"),
    ],
    "wrong_tool_called command_not_found": [go('log.Fatal(exec.Command("pdf2text").Run())', "log", "os/exec")],
    "wrong_tool_called unimplemented": [
        go('_, err := http.Get("gopher://a/b")\nlog.Fatal(err)', "log", "net/http"),
        go('_, err := net.Dial("quic", "a:1")\nlog.Fatal(err)', "log", "net"),
    ],
    "context_overflow too_large": [
        go('s := bufio.NewScanner(strings.NewReader(strings.Repeat("x", 90000)))\ns.Scan()\nlog.Fatal(s.Err())', "bufio", "log", "strings"),
        go('_, err := http.ReadResponse(bufio.NewReader(http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("HTTP/1.1 200 OK")), 5)), nil)\nlog.Fatal(err)', "bufio", "io", "log", "net/http", "strings"),
    ],
    "schema_mismatch invalid_json": [
        go('var v any\nlog.Fatal(json.Unmarshal([]byte(`{"a": 1,}`), &v))', "encoding/json", "log"),
        go('var v any\nlog.Fatal(json.Unmarshal([]byte(`{"a": [1`), &v))', "encoding/json", "log"),
        go('var v any\nlog.Fatal(json.Unmarshal([]byte("Sure! {}"), &v))', "encoding/json", "log"),
    ],
    "schema_mismatch wrong_type": [
        go('var v struct{ Total int }\nlog.Fatal(json.Unmarshal([]byte(`{"total": "ten"}`), &v))', "encoding/json", "log"),
        go('d := json.NewDecoder(strings.NewReader(`{"colour": 1}`))\nd.DisallowUnknownFields()\nvar v struct{ Total int }\nlog.Fatal(d.Decode(&v))', "encoding/json", "log", "strings"),
        go('_, err := strconv.Atoi("12.5 kg")\nlog.Fatal(err)', "log", "strconv"),
        go('_, err := time.Parse(time.RFC3339, "31/12/2026")\nlog.Fatal(err)', "log", "time"),
        go('regexp.MustCompile("(total")', "regexp"),
        go('_, err := time.ParseDuration("5 seconds")\nlog.Fatal(err)', "log", "time"),
        go('_, err := url.Parse("http://a b/%zz")\nlog.Fatal(err)', "log", "net/url"),
        go('log.Fatal(xml.Unmarshal([]byte("<a><b></a>"), new(any)))', "encoding/xml", "log"),
        go('_, err := csv.NewReader(strings.NewReader("a,b\\n1,2,3")).ReadAll()\nlog.Fatal(err)', "encoding/csv", "log", "strings"),
        go('_, err := gzip.NewReader(strings.NewReader("not a gzip stream"))\nlog.Fatal(err)', "compress/gzip", "log", "strings"),
        go('template.Must(template.New("mail").Parse("{{.Name"))', "text/template"),
        go('n := flag.Int("limit", 5, "items")\nflag.CommandLine.Parse([]string{"-limit", "many"})\n_ = n', "flag"),
        go('flag.CommandLine.Parse([]string{"-colour", "red"})', "flag"),
    ],
    "loop_detected redirect_loop": [go('_, err := http.Get("%s/loop")\nlog.Fatal(err)' % H, "log", "net/http")],
    "crashed stack_overflow": [
        "package main\n\nfunc walk(n int) int { return walk(n+1) + 1 }\n\nfunc main() { walk(0) }",
    ],
    "crashed out_of_memory": [go('_ = make([]byte, 1<<46)\nprintln(len(os.Args))', "os")],
    "crashed signal": [
        go('syscall.Kill(syscall.Getpid(), syscall.SIGABRT)\nselect {}', "syscall"),
        go('log.Fatal(exec.Command("sh", "-c", "kill -SEGV $$").Run())', "log", "os/exec"),
        go('log.Fatal(exec.Command("sh", "-c", "kill -KILL $$").Run())', "log", "os/exec"),
    ],
    "unknown bug": [
        "package main\n\nfunc main() { var m map[string]int; m[\"limit\"] = 5 }",
        "package main\n\nfunc main() { a := []int{1}; i := 7; println(a[i]) }",
        "package main\n\ntype cart struct{ n int }\n\nfunc main() { var c *cart; println(c.n) }",
        "package main\n\nfunc main() { panic(\"stock of lamp is 0, limit 5\") }",
        "package main\n\nfunc main() { z := 0; println(5 / z) }",
        "package main\n\nfunc main() { c := make(chan int); <-c }",
        "package main\n\nfunc main() { var x any = 5; println(x.(string)) }",
        "package main\n\nfunc main() { c := make(chan int); close(c); close(c) }",
        "package main\n\nfunc main() { println(totl) }", "package main\n\nfunc main() { n := 5 }",
        "package main\n\nimport \"fmt\"\n\nfunc main() {}", "package main\n\nfunc main() { var n int = \"lamp\" }",
        "package main\n\nfunc f() int {}\n\nfunc main() { f() }", "package main\n\nfunc main() { f(1 }",
        "package main\n\nimport \"shop/limits\"\n\nfunc main() { limits.Set() }",
        "package main\n\nimport \"strings\"\n\nfunc main() { strings.Fancy(\"a\") }",
        "package main\n\ntype A interface{ Go() }\n\ntype B struct{}\n\nvar _ A = B{}\n\nfunc main() {}",
        "package main\n\nfunc f(a int, b string) {}\n\nfunc main() { f(1) }",
        go('log.Fatal("retry 2 of 5: timeout is 30s, card ending 4402 declined")', "log"),
        "package main\n\nfunc main() {\n\tdefer func() { panic(\"rollback of cart 77 failed\") }()\n\tpanic(\"price is negative\")\n}",
        "package main\n\nfunc main() { a := make([]int, 2); n := 9; _ = a[1:n] }",
        go('var w sync.WaitGroup\nw.Done()', "sync"), go('var m sync.Mutex\nm.Unlock()', "sync"), "package main\n\ntype A struct{ b B }\n\ntype B struct{ a A }\n\nfunc main() {}", "package main\n\nvar a = b\nvar b = a\n\nfunc main() {}"],
    "unknown missing_data": [
        go('_, err := os.Open("inbox/week12.csv")\nlog.Fatal(err)', "log", "os"),
        go('panic(os.Chdir("exports"))', "os"),
    ],
}
GO_LINES = {
    "wrong_tool_called command_not_found": ["go biuld", "go mod tidyy", "go tool fancy"],
    "schema_mismatch invalid_argument": [
        "go build -fancy", "go env -w COLOUR=red", "go build -o", "go test -run '(' .", "go mod init",
        "go mod init 'a b'",
    ],
    "schema_mismatch parse_error": [
        "cp notes.txt go.mod; go build .", "printf 'module x\\ngo one\\n' > go.mod; go build .",
        "cp notes.txt a.go; gofmt a.go", "go vet orders.csv",
    ],
    "unknown missing_data": [
        "go run week12.go", "go build ./...", "printf 'module x\\n' > go.mod; go build ./cmd/shop",
        "go run shop/fancy@latest",
    ],
    "loop_detected loop_reported": [
        "mkdir a b; printf 'module x\\n' > go.mod; printf 'package a\\nimport _ \"x/b\"\\n' > a/a.go; printf 'package b\\nimport _ \"x/a\"\\n' > b/b.go; go build ./a",
    ],
    "timeout time_limit": [
        "printf 'module x\\n' > go.mod; printf 'package x\\nimport (\"testing\"; \"time\")\\nfunc TestFetch(t *testing.T) { time.Sleep(3e9) }\\n' > a_test.go; go test -timeout 200ms . 2>&1 | head -12",
    ],
    "unknown bug": [
        "printf 'module x\\n' > go.mod; printf 'package x\\nimport \"testing\"\\nfunc TestLimit(t *testing.T) { t.Errorf(\"limit = %%d, want %%d\", 5, 6) }\\n' > a_test.go; go test .",
        "printf 'module x\\ngo 1.99\\n' > go.mod; echo 'package x' > a.go; go build .",
        "printf 'module x\\n' > go.mod; printf 'package a\\n' > a.go; printf 'package b\\n' > b.go; go build .",
    ],
}
RUST = {
    "external_fault connection_refused": [
        "fn main() { std::net::TcpStream::connect(\"127.0.0.1:@CLOSED@\").unwrap(); }",
    ],
    "external_fault dns_failed": [
        "fn main() -> std::io::Result<()> { std::net::TcpStream::connect(\"queue.invalid:80\")?; Ok(()) }",
    ],
    "timeout timed_out": [
        "use std::io::Read;\nfn main() { let mut s = std::net::TcpStream::connect(\"127.0.0.1:@SILENT@\").unwrap(); s.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap(); s.read(&mut [0; 4]).expect(\"no greeting\"); }",
        "fn main() { let (t, r) = std::sync::mpsc::channel::<i32>(); let v = r.recv_timeout(std::time::Duration::from_millis(50)); drop(t); v.unwrap(); }",
        "fn main() { std::net::TcpStream::connect_timeout(&\"127.0.0.1:@FULL@\".parse().unwrap(), std::time::Duration::from_millis(100)).unwrap(); }",
    ],
    "schema_mismatch parse_error": [
        "fn main() { \"12.5 kg\".parse::<i32>().unwrap(); }",
        "fn main() { let n: f64 = \"ten\".parse().expect(\"total of order 3\"); }",
        "fn main() { String::from_utf8(vec![99, 255]).unwrap(); }",
        "fn main() { \"a.b\".parse::<std::net::IpAddr>().unwrap(); }",
        "fn main() { \"yes\".parse::<bool>().unwrap(); }", "fn main() { u8::try_from(300).unwrap(); }",
        "fn main() { \"99999999999\".parse::<i32>().unwrap(); }", "fn main() { \"\".parse::<u8>().unwrap(); }",
    ],
    "crashed stack_overflow": [
        "fn walk(n: u64) -> u64 { let b = [n; 500]; walk(n + 1) + b[3] }\nfn main() { println!(\"{}\", walk(0)); }",
    ],
    "crashed signal": ["fn main() { std::process::abort() }", "fn main() { unsafe { *(8 as *mut i32) = 1 } }"],
    "crashed out_of_memory": [
        "fn main() { let v: Vec<u8> = Vec::with_capacity(1 << 46); println!(\"{}\", v.capacity()); }",
    ],
    "unknown bug": [
        "fn main() { let a = vec![1]; println!(\"{}\", a[7]); }", "fn main() { None::<i32>.unwrap(); }",
        "fn main() { panic!(\"stock of lamp is 0, limit 5\"); }",
        "fn main() { assert_eq!(412, 500, \"items left over\"); }",
        "fn main() { let z = std::env::args().count() as i32 - 1; println!(\"{}\", 5 / z); }",
        "fn main() { let c = std::cell::RefCell::new(1); let _a = c.borrow_mut(); c.borrow_mut(); }",
        "fn main() { todo!(\"refunds by rail\") }",
        "fn main() -> Result<(), String> { Err(\"card ending 4402 declined; retry 2 of 5\".into()) }",
        "fn main() { let n: u8 = 255; println!(\"{}\", n + std::env::args().count() as u8); }",
        "fn main() { std::thread::spawn(|| panic!(\"printer 4 is out of paper\")).join().unwrap(); }",
        "fn main() { unreachable!() }", "fn main() { println!(\"{}\", &\"caf\u00e9\"[0..4]); }",
        "fn main() { Option::<u8>::None.expect(\"timeout must be set\"); }",
    ],
    "unknown missing_data": [
        "fn main() { std::fs::read_to_string(\"inbox/week12.csv\").unwrap(); }",
        "fn main() { std::env::var(\"SHOP_REGION\").unwrap(); }",
    ],
    "wrong_tool_called command_not_found": [
        "fn main() { std::process::Command::new(\"pdf2text\").status().expect(\"convert report\"); }",
    ],
}
RUSTC = {
    "unknown bug": [
        "fn main() { let n: i32 = \"lamp\"; }", "fn main() { println!(\"{}\", totl); }",
        "fn main() { let s = String::new(); let t = s; println!(\"{s}\"); }", "fn main() { let n = 5; n = 6; }",
        "fn f() -> &str { \"a\" }\nfn main() {}", "struct A;\nfn main() { A.ship(); }", "fn main() { let x = 5 }}",
        "use shop::limits;\nfn main() {}", "fn f(a: i32) {}\nfn main() { f(); }",
        "fn main() { match Some(1) { None => {} } }",
        "trait T { fn go(&self); }\nstruct B;\nimpl T for B {}\nfn main() {}",
        "fn main() { let r; { let x = 1; r = &x; } println!(\"{r}\"); }",
        "fn main() { let mut v = vec![1]; for x in &v { v.push(*x); } }", "fn main() { fancy!(1); }",
        "fn main() { return 5; }", "struct C { limit: u8 }\nfn main() { let c = C { limt: 5 }; }",
        "fn main() { let f: Box<dyn Fn() + Send> = Box::new({ let r = std::rc::Rc::new(1); move || { r.clone(); } }); }",
        "fn main() { const Z: u8 = 256; }", "fn main() { let a = [1; 3]; println!(\"{}\", a[5]); }",
        "fn main() { \"open }", "struct A { b: B }\nstruct B { a: A }\nfn main() {}", "const A: u8 = B;\nconst B: u8 = A;\nfn main() {}", "macro_rules! again { () => { again!() } }\nfn main() { again!() }"],
    "wrong_tool_called unimplemented": ["#![feature(fancy)]\nfn main() {}"],
}
RUSTC_LINES = {"schema_mismatch invalid_argument": [
        "rustc --fancy", "rustc --edition 2077 a.rs", "rustc -O9", "rustc", "rustc --crate-type pdf a.rs",
        "rustc -C opt-level=max2 a.rs",
    ], "unknown missing_data": ["rustc week12.rs", "rustc --explain E9999"]}
NEW = "mkdir src; echo 'fn main() {}' > src/main.rs; printf '[package]\\nname = \"shop\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n%s' > Cargo.toml; "
CARGO = {
    "wrong_tool_called command_not_found": [
        "cargo biuld", NEW % "" + "cargo run --bin fancy", NEW % "" + "cargo fancy-lint",
    ],
    "schema_mismatch parse_error": [
        "cp notes.txt Cargo.toml; cargo check", NEW % "[dependencies]\\na = [\\n" + "cargo check",
        NEW % "[dependencies]\\na = 5\\n" + "cargo check --offline",
        NEW % "[dependencies]\\na = \"one\"\\n" + "cargo check --offline",
    ],
    "schema_mismatch missing_field": [
        "printf '[package]\\nversion = \"0.1.0\"\\n' > Cargo.toml; cargo check",
        "mkdir src; touch src/lib.rs; printf '[package]\\nname = \"9shop\"\\n' > Cargo.toml; cargo check",
        NEW.replace("2021", "2077") % "" + "cargo check",
    ],
    "schema_mismatch invalid_argument": [
        "cargo build --fancy", "cargo build -j lots", "cargo new", "cargo new 9shop",
        NEW % "" + "cargo build --features fancy", NEW % "" + "cargo build --profile fancy",
        NEW % "" + "cargo build -p cart", "cargo build --release --debug",
    ],
    "unknown missing_data": [
        "cargo build", "printf '[package]\\nname = \"shop\"\\nversion = \"0.1.0\"\\n' > Cargo.toml; cargo check",
        NEW % "[dependencies]\\nprices = { path = \"../prices\" }\\n" + "cargo check",
        NEW % "[dependencies]\\nprices = \"1\"\\n" + "cargo check --offline",
        "cargo run --manifest-path shop/Cargo.toml",
    ],
    "unknown bug": [
        "touch notes; cargo new notes.txt", NEW % "rust-version = \"1.999\"\\n" + "cargo check",
        NEW % "" + "cargo check --locked", "mkdir shop; cargo new shop",
        NEW % "" + "printf '#[test]\\nfn limit() { assert_eq!(5, 6); }\\nfn main() {}\\n' > src/main.rs; cargo test 2>&1 | tail -16",
        NEW % "" + "printf 'fn main() { std::process::exit(3) }\\n' > src/main.rs; cargo run; echo \"status $?\"",
    ],
    "loop_detected loop_reported": [
        NEW % "[dependencies]\\nshop = { path = \".\" }\\n" + "cargo check --offline",
        NEW % "[features]\\na = [\"b\"]\\nb = [\"a\"]\\n[dependencies]\\nc = { path = \"c\" }\\n" + "mkdir -p c/src; touch c/src/lib.rs; printf '[package]\\nname = \"c\"\\nversion = \"0.1.0\"\\n[dependencies]\\nshop = { path = \"..\" }\\n' > c/Cargo.toml; cargo check --offline",
    ],
    "crashed signal": [
        NEW % "" + "printf 'fn main() { std::process::abort() }\\n' > src/main.rs; cargo run",
        NEW % "build = \"b.rs\"\\n" + "printf 'fn main() { std::process::abort() }\\n' > b.rs; cargo check",
    ],
}


def cases():
    yield from sources("go", ["main.go", "cmd/sync/main.go"], "go run {f} 2>&1 | head -16", GO)
    yield from commands("go", GO_LINES, "go")
    yield from sources("rust-std", ["main.rs"], "rustc --edition 2021 -A warnings {f} -o m 2>&1 && RUST_BACKTRACE=0 ./m", RUST, as_self=True)
    yield from sources("rustc", ["src/main.rs"], "rustc --edition 2021 -A warnings {f} -o m", RUSTC, as_self=True)
    yield from commands("rustc", RUSTC_LINES, as_self=True)
    yield from commands("cargo", CARGO, "cargo", as_self=True)
