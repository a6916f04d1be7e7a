/* Load generator: many connections, each with one batch of requests under way, on one thread with epoll.
 *
 * loadgen HOST PORT CONNECTIONS DEPTH SECONDS FILE REPLY_BYTES
 *
 * FILE holds the bytes of one batch of DEPTH requests, REPLY_BYTES is the size of all its replies. A connection sends
 * the batch, waits for that many bytes and sends it again. Prints one JSON object: requests a second, the same in the
 * best tenth of windows of 5 ms (what a machine does while nobody else wants it), and the time of a batch in
 * microseconds (p50, p99). Exits 1 with a line on stderr when a connection fails.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 20000, RESOLUTION_NS = 500, READ_BYTES = 1 << 18, WINDOW_NS = 5000000, WINDOWS = 10000 }; /* latencies up to 10 ms are told apart */

struct connection {
    int fd;
    size_t sent, received;
    long long since;
};

static char *batch;
static size_t batch_size, reply_size;
static long long histogram[SLOTS + 1], windows[WINDOWS], batches, begin;

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "loadgen: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_batch(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    batch_size = ftell(file);
    rewind(file);
    batch = malloc(batch_size);
    if (!batch_size || fread(batch, 1, batch_size, file) != batch_size) fail(path);
    fclose(file);
}

static int open_connection(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || inet_pton(AF_INET, host, &address.sin_addr) != 1) fail(host);
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void push(struct connection *c) {
    while (c->sent < batch_size) {
        ssize_t n = send(c->fd, batch + c->sent, batch_size - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) fail("send");
        c->sent += n;
    }
}

static void start(struct connection *c) {
    c->sent = c->received = 0;
    c->since = now_ns();
    push(c);
}

static void pull(struct connection *c, int counting) {
    static char sink[READ_BYTES];
    ssize_t n;
    do { /* edge-triggered: a read that fills the buffer may have left something */
        n = recv(c->fd, sink, sizeof sink, 0);
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) fail("recv: the server closed");
        c->received += n;
    } while (n == sizeof sink);
    if (c->received > reply_size) { errno = EPROTO; fail("more reply bytes than expected"); }
    if (c->received < reply_size) return;
    if (counting) {
        long long now = now_ns(), slot = (now - c->since) / RESOLUTION_NS, window = (now - begin) / WINDOW_NS;
        histogram[slot < SLOTS ? slot : SLOTS]++;
        if (window < WINDOWS) windows[window]++;
        batches++;
    }
    start(c);
}

static double percentile(double part) {
    long long seen = 0;
    for (int slot = 0; slot <= SLOTS; slot++)
        if ((seen += histogram[slot]) >= part * batches) return (slot + 1) * (RESOLUTION_NS / 1000.0);
    return 0;
}

static int by_size(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static double best_windows(double seconds, int depth) {
    int full = seconds * 1e9 / WINDOW_NS;
    if (full > WINDOWS) full = WINDOWS;
    if (full < 1) return 0;
    qsort(windows, full, sizeof *windows, by_size);
    return windows[full * 9 / 10] * (double)depth * 1e9 / WINDOW_NS;
}

int main(int argc, char **argv) {
    if (argc != 8) { fprintf(stderr, "usage: loadgen HOST PORT CONNECTIONS DEPTH SECONDS FILE REPLY_BYTES\n"); return 2; }
    int connections = atoi(argv[3]), depth = atoi(argv[4]), loop = epoll_create1(0);
    double seconds = atof(argv[5]);
    read_batch(argv[6]);
    reply_size = strtoull(argv[7], 0, 10);
    struct connection *all = calloc(connections, sizeof *all);
    for (int i = 0; i < connections; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &all[i]};
        all[i].fd = open_connection(argv[1], atoi(argv[2]));
        if (epoll_ctl(loop, EPOLL_CTL_ADD, all[i].fd, &event)) fail("epoll_ctl");
    }
    for (int i = 0; i < connections; i++) start(&all[i]);
    begin = now_ns() + 300000000LL; /* 0.3 s to warm up */
    long long end = begin + (long long)(seconds * 1e9), now;
    struct epoll_event events[256];
    while ((now = now_ns()) < end) {
        int n = epoll_wait(loop, events, 256, 1000);
        if (!n) { errno = ETIMEDOUT; fail("no answer for a second"); }
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT) push(c);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) pull(c, now >= begin);
        }
    }
    double elapsed = (now - begin) / 1e9;
    printf("{\"requests_per_second\": %.0f, \"best_windows\": %.0f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
           batches * (double)depth / elapsed, best_windows(elapsed, depth), percentile(0.50), percentile(0.99));
    return 0;
}
