# SPDX-License-Identifier: MIT
"""java, javac, maven."""
from .cases import commands, sources


def java(body, imports=""):
    return imports + "class Main {\n    public static void main(String[] args) throws Exception {\n        %s\n    }\n}" % body


H = "http://127.0.0.1:@HTTP@"
GET = "java.net.http.HttpClient.newHttpClient().send(java.net.http.HttpRequest.newBuilder(java.net.URI.create(\"%s\"))%s.build(), java.net.http.HttpResponse.BodyHandlers.ofString());"
JAVA = {
    "external_fault connection_refused": [
        "new java.net.Socket(\"127.0.0.1\", @CLOSED@);", GET % ("http://127.0.0.1:@CLOSED@/stock", ""),
    ],
    "external_fault connection_lost": [
        GET % (H + "/cut", ""), "new java.net.URL(\"%s/reset\").openStream().read();" % H,
    ],
    "external_fault transfer_cut_off": [
        GET % (H + "/half", ""), "new java.net.URL(\"%s/half\").openStream().readAllBytes();" % H,
    ],
    "external_fault dns_failed": ["new java.net.URL(\"http://ledger.invalid/a\").openStream();"],
    "external_fault unavailable": ["new java.net.URL(\"%s/v1/down\").openStream();" % H],
    "external_fault rate_limited": ["new java.net.URL(\"%s/v1/chat\").openStream();" % H],
    "external_fault resource_busy": [
        "new java.net.ServerSocket(@HTTP@, 5, java.net.InetAddress.getByName(\"127.0.0.1\"));",
    ],
    "timeout timed_out": [
        GET % (H + "/hang", ".timeout(java.time.Duration.ofMillis(200))"),
        "var s = new java.net.Socket(); s.connect(new java.net.InetSocketAddress(\"127.0.0.1\", @FULL@), 200);",
        "var c = new java.net.URL(\"%s/hang\").openConnection(); c.setReadTimeout(200); c.getInputStream();" % H,
        "java.util.concurrent.CompletableFuture.supplyAsync(() -> { try { Thread.sleep(900); } catch (Exception e) {} return 1; }).get(100, java.util.concurrent.TimeUnit.MILLISECONDS);",
        "new java.util.concurrent.CompletableFuture<String>().orTimeout(100, java.util.concurrent.TimeUnit.MILLISECONDS).join();",
    ],
    "access_denied permission_denied": [
        "new java.io.FileWriter(\"/etc/shop\");",
        "java.nio.file.Files.createDirectory(java.nio.file.Path.of(\"/srv2\"));", "new java.net.ServerSocket(87);",
        "new ProcessBuilder(\"./notes.txt\").start();",
    ],
    "access_denied forbidden": ["new java.net.URL(\"%s/v1/admin\").openStream();" % H],
    "wrong_tool_called command_not_found": [
        "new ProcessBuilder(\"pdf2text\", \"a.pdf\").start();", "Runtime.getRuntime().exec(\"shipit --now\");",
    ],
    "wrong_tool_called method_not_found": [
        "java.security.MessageDigest.getInstance(\"MD17\");", "String.class.getMethod(\"trimAll\");",
        "java.nio.charset.Charset.forName(\"utf-99\");",
        "new javax.script.ScriptEngineManager().getEngineByName(\"cobol\").eval(\"1\");",
        "javax.crypto.Cipher.getInstance(\"AES9/GCM\");",
    ],
    "wrong_tool_called unimplemented": ["java.util.List.of(1).add(2);", "new java.net.URL(\"gopher2://a\");"],
    "schema_mismatch parse_error": [
        "Integer.parseInt(\"12.5 kg\");", "java.time.LocalDate.parse(\"31/12/2026\");",
        "java.util.regex.Pattern.compile(\"(total\");", "java.util.UUID.fromString(\"order-2209\");",
        "new java.net.URI(\"http://a b/\");",
        "javax.xml.parsers.DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new java.io.File(\"broken.xml\"));",
        "new java.util.Scanner(\"ten\").nextInt();", "new java.math.BigDecimal(\"n/a\");",
        "new java.util.zip.GZIPInputStream(new java.io.FileInputStream(\"notes.txt\"));",
        "new java.util.zip.ZipFile(\"notes.txt\");", "java.util.Base64.getDecoder().decode(\"a!b\");",
        "String.format(\"%d\", \"ten\");", "Thread.State.valueOf(\"OPNE\");", "java.time.Duration.parse(\"5 s\");",
        "String.format(\"%q\", 1);", "java.time.ZoneId.of(\"Moon/Crater\");",
    ],
    "loop_detected redirect_loop": ["new java.net.URL(\"%s/loop\").openStream();" % H],
    "loop_detected loop_reported": [
        "var a = new java.util.ArrayList<Object>(); a.add(a); a.hashCode();",
        "java.nio.file.Files.createSymbolicLink(java.nio.file.Path.of(\"a\"), java.nio.file.Path.of(\"b\")); java.nio.file.Files.createSymbolicLink(java.nio.file.Path.of(\"b\"), java.nio.file.Path.of(\"a\")); java.nio.file.Files.readString(java.nio.file.Path.of(\"a\"));",
    ],
    "crashed out_of_memory": [
        "var a = new java.util.ArrayList<long[]>(); while (true) a.add(new long[100000]);",
        "int[] a = new int[Integer.MAX_VALUE];", "var b = new StringBuilder(\"x\"); while (true) b.append(b);",
    ],
    "crashed aborted": ["Runtime.getRuntime().halt(134);"],
    "unknown bug": [
        "String s = null; s.length();", "int[] a = {1}; System.out.println(a[7]);",
        "Object o = 5; String s = (String) o;", "System.out.println(5 / (args.length));",
        "java.util.List.of(1).get(3);", "throw new IllegalStateException(\"stock of lamp is 0, limit 5\");",
        "java.util.Optional.empty().get();", "new java.util.ArrayDeque<>().pop();",
        "for (var x : new java.util.ArrayList<>(java.util.List.of(1, 2)) {{ }}) { throw new RuntimeException(\"price\", new IllegalArgumentException(\"negative: -3\")); }",
        "var l = new java.util.ArrayList<>(java.util.List.of(1, 2, 3)); for (var x : l) l.remove(x);",
        "\"abc\".substring(9);", "java.util.Objects.requireNonNull(null, \"timeout must be set, e.g. 30 s\");",
        "new Thread(() -> { throw new RuntimeException(\"printer 4 is out of paper\"); }, \"worker-3\").start();",
        "System.err.println(\"retry limit 5, used 2; tools: 3\"); System.exit(3);",
        "Object[] a = new String[1]; a[0] = 5;", "new int[-1].clone();",
        "var i = java.util.List.of(1).iterator(); i.next(); i.next();", "new Object().wait();",
        "java.util.Map.of(\"a\", 1, \"a\", 2);",
    ],
    "unknown missing_data": [
        "java.nio.file.Files.readString(java.nio.file.Path.of(\"inbox/week12.csv\"));",
        "Class.forName(\"shop.PriceList\");", "java.util.ResourceBundle.getBundle(\"limits\");",
        "new java.io.FileInputStream(\"week13.csv\");",
    ],
    "unknown disk_full": ["try (var o = new java.io.FileOutputStream(\"/dev/full\")) { o.write(1); }"],
}
JAVA_STACK = ["class Main {\n    static int walk(int n) { return walk(n + 1) + 1; }\n    public static void main(String[] a) { walk(0); }\n}"]
JAVA_LINES = {
    "schema_mismatch invalid_argument": [
        "java -Xmx9x Main", "java --fancy Main", "java -XX:+UseFancyGC Main", "java -Xms2g -Xmx1g -version",
        "java -jar",
    ],
    "unknown missing_data": ["java shop.Main", "java -jar shop.jar", "java Main.java"],
    "crashed out_of_memory": ["prlimit --as=400000000 java -Xmx2g -version"],
    "schema_mismatch parse_error": ["cp notes.txt a.jar; java -jar a.jar", "cp notes.txt A.class; java A"],
}
JAVAC = {
    "unknown bug": [
        java("int n = \"lamp\";"), java("System.out.println(totl);"), java("int n = 5"), java("new Cart();"),
        java("\"a\".lenght();"), java("final int limit = 5; limit = 6;"), java("int n; System.out.println(n);"),
        java("return 5;"), java("while (true); int x;"), "class Main { void f() { throw new Exception(\"x\"); } }",
        "class Main { int f() { } }", "class Main implements Runnable { }", "public class Other { }",
        "class Main { void f() {} void f() {} }", "import shop.limits.*;\nclass Main { Quota q; }", "class Main {",
        "class Main { static void f(int a, String b) { f(\"a\", 1); } }",
        "class Main { int f(Object o) { return switch (o) { case 1 -> 2; }; } }",
        "class Main { private int tool; } class B { int x = new Main().tool; }",
        "enum E { A } class Main { int f(E e) { return switch (e) { }; } }", "class Main extends B { } class B extends Main { }", "class Main { Main() { this(1); } Main(int n) { this(); } }"],
    "unknown  bug": [
        "class Main { String s = \"" + "x" * 70000 + "\"; }",
        "class Main { static int[] t = {" + "1," * 20000 + "}; }",
    ],
}
JAVAC_LINES = {"schema_mismatch invalid_argument": [
        "javac --fancy Main.java", "javac -source 99 Main.java", "javac -d", "javac",
    ], "unknown missing_data": ["javac Cart.java", "javac -d /nowhere Cart.java"], "access_denied permission_denied": [
        "echo 'class A {}' > A.java; chmod 0 A.java; javac A.java",
        "echo 'class A {}' > A.java; javac -d /usr A.java",
    ],
               "crashed out_of_memory": ["echo 'class A { }' > A.java; javac -J-Xmx2m A.java"], "wrong_tool_called tool_not_found": [
        "echo 'class A {}' > A.java; javac -processor shop.Fancy A.java",
        "echo 'class A {}' > A.java; javac -Xplugin:Fancy A.java",
    ]}
POM = "printf '<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>shop</artifactId><version>1</version>%s</project>' > pom.xml; mvn -B -o -q "
MAVEN = {
    "wrong_tool_called command_not_found": [
        POM % "" + "instal", POM % "" + "fancy:run", POM % "" + "shop.x:fancy-plugin:1:go",
    ],
    "unknown missing_data": [
        "mvn -B -o package",
        POM % "<dependencies><dependency><groupId>shop</groupId><artifactId>prices</artifactId><version>9</version></dependency></dependencies>" + "compile",
        POM % "<parent><groupId>x</groupId><artifactId>base</artifactId><version>9</version></parent>" + "validate",
        POM % "<modules><module>cart</module></modules><packaging>pom</packaging>" + "validate",
        POM % "" + "-Pnothere validate -f x.xml",
    ],
    "schema_mismatch parse_error": [
        "cp broken.xml pom.xml; mvn -B -o validate", "cp notes.txt pom.xml; mvn -B -o validate",
        POM % "<colour>red</colour>" + "validate",
    ],
    "schema_mismatch missing_field": [
        POM.replace("<version>1</version>", "") % "" + "validate",
        POM % "<dependencies><dependency><groupId>a</groupId><artifactId>b</artifactId></dependency></dependencies>" + "validate",
        POM % "<packaging>fancy</packaging>" + "validate",
    ],
    "schema_mismatch invalid_argument": [
        "mvn --fancy", "mvn -T lots validate", POM % "" + "-pl cart validate", POM % "",
    ],
    "loop_detected loop_reported": [
        POM % "<parent><groupId>x</groupId><artifactId>shop</artifactId><version>1</version></parent>" + "validate",
        POM % "<properties><a>$${b}</a><b>$${a}</b></properties><name>$${a}</name><url>$${b}</url>" + "validate",
    ],
    "access_denied permission_denied": [POM % "" + "-Dmaven.repo.local=/root/m2 validate"],
}


def cases():
    yield from sources("jvm", ["Main.java"], "java -Xmx24m Main.java", {key: [java(body) for body in bodies] for key, bodies in JAVA.items()})
    yield from sources("jvm", ["Main.java"], "java -Xss512k Main.java 2>&1 | head -7", {"crashed stack_overflow": JAVA_STACK})
    yield from commands("jvm", JAVA_LINES)
    yield from sources("javac", ["Main.java"], "javac {f} 2>&1 | cut -c1-300", JAVAC)
    yield from commands("javac", JAVAC_LINES, "javac")
    yield from commands("maven", {key: [line.replace("$$", "$") for line in lines] for key, lines in MAVEN.items()}, "mvn")
