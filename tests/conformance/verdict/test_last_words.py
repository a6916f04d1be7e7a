"""What runtimes say of a death: the line that names it, and the first frame that is the target's own code."""

from __future__ import annotations

import pytest

from wireproof.conformance.verdict.last_words import LastWords, last_words, without_template_arguments

SANITIZER = """listening tcp://127.0.0.1:1
==42==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc 0x5581 bp 0x7ffd sp 0x7ffc
READ of size 8 at 0x602000000018 thread T0
    #0 0x7f1b2c in __interceptor_memcpy ../../../../src/libsanitizer/sanitizer_common/interceptors.inc:827
    #1 0x5581d0 in std::__copy_move<false>::__copy_m /usr/include/c++/12/bits/stl_algobase.h:431
    #2 0x5581d1 in toy::insert(toy::session&, std::span<std::byte>) /src/toy/insert.cpp:57:12
    #3 0x5581d2 in toy::session::on_read(unsigned long) /src/toy/session.cpp:103:5
SUMMARY: AddressSanitizer: heap-buffer-overflow /src/toy/insert.cpp:57:12 in toy::insert(toy::session&)
  0x0c047fff7fb0: 00 00 00 00 00 00 00 00
==42==ABORTING"""
GDB = """Program terminated with signal SIGSEGV, Segmentation fault.
#0  __memcpy_avx_unaligned () at ../sysdeps/x86_64/memcpy.S:416
#1  0x000055d0 in toy::read (at=0x0) at src/read.cpp:12
#2  0x000055d1 in main () at src/main.cpp:3"""
BOOST = """malloc(): corrupted top size
 0# toy::handler(int) at /src/x.cpp:12
 1# main at /src/main.cpp:3"""
RUST = """thread 'worker' panicked at src/update.rs:120:9:
attempt to subtract with overflow
stack backtrace:
   0: rust_begin_unwind
             at /rustc/90b35a/library/std/src/panicking.rs:647:5
   1: core::panicking::panic_fmt
             at /rustc/90b35a/library/core/src/panicking.rs:72:14
   2: toy::update::decrease
             at ./src/update.rs:120:9"""
GO = """panic: runtime error: slice bounds out of range [:9] with capacity 4

goroutine 18 [running]:
runtime.gopanic({0x49a2c0?, 0xc000012120?})
\t/usr/local/go/src/runtime/panic.go:770 +0x132
main.(*session).purge(0xc000076000, {0xc00008e000, 0x4, 0x400})
\t/src/toy/session.go:88 +0x1d5
exit status 2"""
JAVA = """Exception in thread "worker-3" java.lang.ArrayIndexOutOfBoundsException: Index 7 out of bounds for length 4
\tat java.base/java.util.Arrays.rangeCheck(Arrays.java:725)
\tat com.example.Handlers.set(Handlers.java:57)
\tat java.base/java.lang.Thread.run(Thread.java:1583)"""
PYTHON = """Traceback (most recent call last):
  File "/srv/server.py", line 83, in handle
    table[key]
  File "/usr/lib/python3.11/collections/__init__.py", line 1, in __missing__
KeyError: b'k'"""
FAULT = """Fatal Python error: Aborted

Current thread 0x00007fb7f8ea1b80 (most recent call first):
  File "/usr/lib/python3.11/asyncio/runners.py", line 93 in run
  File "/srv/server.py", line 75 in handler
Extension modules: msgspec._core"""
NODE = """/srv/driver.js:12
    throw new TypeError('bad');
    ^

TypeError: bad
    at node:internal/streams:1:2
    at Session.close (/srv/driver.js:12:11)

Node.js v20.1.0"""
PHP = """PHP Fatal error:  Uncaught TypeError: no string in /srv/driver.php:12
Stack trace:
#0 /srv/driver.php(12): strlen(NULL)
#1 {main}"""
NET = """Unhandled exception. System.IndexOutOfRangeException: outside
   at System.Array.Get(Int32 i)
   at Toy.Session.Read(Byte[] b) in /src/Session.cs:line 44"""


@pytest.mark.parametrize(
    ("text", "printed", "frame"),
    [
        (
            SANITIZER,
            "AddressSanitizer: heap-buffer-overflow",
            "toy::insert(toy::session&, std::span<std::byte>) at /src/toy/insert.cpp:57",
        ),
        (GDB, "Program terminated with signal SIGSEGV, Segmentation fault.", "toy::read (at=0x0) at src/read.cpp:12"),
        (BOOST, "malloc(): corrupted top size", "toy::handler(int) at /src/x.cpp:12"),
        (
            RUST,
            "thread 'worker' panicked at src/update.rs:120:9: attempt to subtract with overflow",
            "toy::update::decrease at ./src/update.rs:120",
        ),
        (
            GO,
            "panic: runtime error: slice bounds out of range [:9] with capacity 4",
            "main.(*session).purge at /src/toy/session.go:88",
        ),
        (
            JAVA,
            'Exception in thread "worker-3" java.lang.ArrayIndexOutOfBoundsException: '
            "Index 7 out of bounds for length 4",
            "com.example.Handlers.set at Handlers.java:57",
        ),
        (PYTHON, "KeyError: b'k'", "handle at /srv/server.py:83"),
        (FAULT, "Fatal Python error: Aborted", "handler at /srv/server.py:75"),
        (NODE, "TypeError: bad", "Session.close at /srv/driver.js:12"),
        (
            PHP,
            "PHP Fatal error:  Uncaught TypeError: no string in /srv/driver.php:12",
            "strlen(NULL) at /srv/driver.php:12",
        ),
        (
            NET,
            "Unhandled exception. System.IndexOutOfRangeException: outside",
            "Toy.Session.Read(Byte[] b) at /src/Session.cs:44",
        ),
        (
            "toy: src/a.cpp:12: void toy::f(int): Assertion `x > 0' failed.",
            "toy: src/a.cpp:12: void toy::f(int): Assertion `x > 0' failed.",
            "void toy::f(int) at src/a.cpp:12",
        ),
        (
            "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
            "terminate called after throwing an instance of 'std::bad_alloc'; what():  std::bad_alloc",
            "",
        ),
        (
            "src/a.cpp:12:3: runtime error: signed integer overflow",
            "src/a.cpp:12:3: runtime error: signed integer overflow",
            "src/a.cpp:12",
        ),
    ],
)
def test_reports_of_runtimes_are_read(text: str, printed: str, frame: str) -> None:
    assert last_words(text) == LastWords(printed, frame, names_a_cause=True)


@pytest.mark.parametrize(
    ("line", "short"),
    [
        ("    #1 0xa in f<g<int> >::h(i<j> const&) a.cpp:1", "    #1 0xa in f<…>::h(i<…> const&) a.cpp:1"),
        ("    #1 0xa in k::operator<(k const&) a.cpp:1", "    #1 0xa in k::operator<(k const&) a.cpp:1"),
        ("    #1 0xa in k<l>::operator->() a.cpp:1", "    #1 0xa in k<…>::operator->() a.cpp:1"),
        ("GET <k> of 7", "GET <k> of 7"),
    ],
)
def test_template_arguments_are_left_out_of_backtraces(line: str, short: str) -> None:
    assert without_template_arguments(line) == short


def test_the_last_report_counts() -> None:
    assert last_words(PYTHON + "\nserving on\n" + JAVA).frame == "com.example.Handlers.set at Handlers.java:57"


def test_the_line_that_says_where_it_listens_is_no_last_word() -> None:
    assert last_words("listening tcp://127.0.0.1:9000\n") == LastWords("", "")


def test_the_last_line_of_a_log_names_no_cause() -> None:
    assert last_words("GET k\nPUT k\n") == LastWords("PUT k", "")
    assert last_words("GET k\nfatal: out of luck\n").names_a_cause
